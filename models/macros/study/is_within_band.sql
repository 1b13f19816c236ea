{#-
    Whether an interval lies within a band, one end of which may be missing; a band without ends contains nothing. With the ends of the
    interval swapped, it is whether any value of the interval lies within the band.

    lower, upper: expressions for the ends of the interval. low, high: expressions for the ends of the band.
-#}
{% macro is_within_band(lower, upper, low, high) -%}
    (
            coalesce({{ low }}, {{ high }}) is not null
            and ({{ low }} is null or {{ lower }} >= {{ low }})
            and ({{ high }} is null or {{ upper }} <= {{ high }})
        )
{%- endmacro %}
