{#-
    Whether an interval lies within a band of which one end may be missing; a band without ends holds nothing. With both ends of the interval
    exchanged: whether a value of the interval lies within the band.

    lower, upper: expressions of the interval. low, high: expressions of the band.
-#}
{% macro is_within_band(lower, upper, low, high) -%}
    (
            coalesce({{ low }}, {{ high }}) is not null
            and ({{ low }} is null or {{ lower }} >= {{ low }})
            and ({{ high }} is null or {{ upper }} <= {{ high }})
        )
{%- endmacro %}
