{#- The condition of a join of two relations by equal columns, which both name alike. -#}
{% macro same_columns(left, right, columns) -%}
    {%- for column in columns -%}
        {{ ' and ' if not loop.first }}{{ left }}.{{ column }} = {{ right }}.{{ column }}
    {%- endfor -%}
{%- endmacro %}
