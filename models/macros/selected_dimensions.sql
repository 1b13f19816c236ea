{#- Columns of a group of dimensions, without the key of a run and without given columns, selected from a relation. -#}
{% macro selected_dimensions(group, relation, without=[]) -%}
    {%- for column in dimension_names(group) if column not in without -%}
        {{ relation }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
