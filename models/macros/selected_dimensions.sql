{#- The columns of a group of dimensions, without the key of a run, selected from a relation that has them. -#}
{% macro selected_dimensions(group, relation) -%}
    {%- for column in dimension_names(group) -%}
        {{ relation }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
