{#- The columns of a group of dimensions, without the key of a run, selected from a relation that has them but for some. -#}
{% macro selected_dimensions(group, relation, without=[]) -%}
    {%- for column in dimension_names(group) if column not in without -%}
        {{ relation }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
