{#- The condition is true for each row; a row for which it is null passes. -#}
{% test always_holds(model, condition) %}
select *
from {{ model }}
where not ({{ condition }})
{% endtest %}
