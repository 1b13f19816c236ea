{#-
    Level of an exact interval of a median over runs, and why there is none.

    lower: expression of its lower bound. runs: expression of the runs with a value. otherwise: reason if there are enough runs.
-#}
{% macro median_interval_columns(lower, runs, otherwise) -%}
    case when {{ lower }} is not null then cast(0.95 as double) end as level_ratio,
        case
            when {{ lower }} is not null then null
            when {{ runs }} = 0 then 'no run has a score that counts'
            when {{ runs }} = 1 then 'one run'
            when {{ runs }} < 6 then 'fewer than 6 runs: an exact 95% interval of the median needs 6'
            else '{{ otherwise }}'
        end as interval_null_reason
{%- endmacro %}
