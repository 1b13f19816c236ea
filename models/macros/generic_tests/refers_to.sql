{#- The other relation contains every combination of the columns; a combination with a null is not checked. -#}
{% test refers_to(model, columns, to, field_names=none) %}
with

children as (
    select distinct
        {{ columns | join(',\n        ') }}
    from {{ model }}
    where
        {%- for column in columns %}
        {% if not loop.first %}and {% endif %}{{ column }} is not null
        {%- endfor %}
)

select children.*
from children
left join {{ to }} as parents
    on
        {%- for column in columns %}
        {% if not loop.first %}and {% endif %}children.{{ column }} = parents.{{ (field_names or columns)[loop.index0] }}
        {%- endfor %}
where parents.{{ (field_names or columns)[0] }} is null
{% endtest %}
