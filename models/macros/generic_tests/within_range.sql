{#- Every value that is not null lies between the bounds, both inclusive; `strictly_above` is an exclusive lower bound. -#}
{% test within_range(model, column_name, at_least=none, at_most=none, strictly_above=none) %}
select {{ column_name }}
from {{ model }}
where
    false
    {%- if at_least is not none %}
    or {{ column_name }} < {{ at_least }}
    {%- endif %}
    {%- if strictly_above is not none %}
    or {{ column_name }} <= {{ strictly_above }}
    {%- endif %}
    {%- if at_most is not none %}
    or {{ column_name }} > {{ at_most }}
    {%- endif %}
{% endtest %}
