{#-
    Level of an exact interval of a median over replicates, and why there is none.

    lower: expression of its lower bound. n: expression of the replicates with a value. unit: what a replicate is, in the singular: a literal or
    an expression. without: reason if no replicate has a value. otherwise: reason if there are enough of them.
-#}
{% macro median_interval_columns(
    lower, n, unit="'run'", without='no run has a score that counts', otherwise='there are more than the table of ranks has'
) -%}
    case when {{ lower }} is not null then cast(0.95 as double) end as level_ratio,
        case
            when {{ lower }} is not null then null
            when {{ n }} = 0 then '{{ without }}'
            when {{ n }} = 1 then concat('one ', {{ unit }})
            when {{ n }} < 6 then concat('fewer than 6 ', {{ unit }}, 's: an exact 95% interval of the median needs 6')
            else '{{ otherwise }}'
        end as interval_null_reason
{%- endmacro %}
