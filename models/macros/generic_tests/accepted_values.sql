{#-
    Every value that is not null is one of those listed. Unlike dbt's own test, this one checks rows without grouping them: a scan costs
    less, and Spark can run many such tests in one query.
-#}
{% test accepted_values(model, column_name, values, quote=true) %}
select {{ column_name }}
from {{ model }}
where
    {{ column_name }} not in (
        {%- for value in values %}
        {{ "'" ~ value ~ "'" if quote else value }}{{ "," if not loop.last }}
        {%- endfor %}
    )
{% endtest %}
