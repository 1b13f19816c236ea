{#- The columns of the key are never null, those named nullable apart, and no two rows have the same. -#}
{% test unique_key(model, columns, nullable=[]) %}
select
    {{ columns | join(',\n    ') }},
    count(*) as rows_with_this_key
from {{ model }}
group by
    {{ columns | join(',\n    ') }}
having
    count(*) > 1
    {%- for column in columns if column not in nullable %}
    or {{ column }} is null
    {%- endfor %}
{% endtest %}
