{#- Join condition: two relations have equal values in columns of the same names. -#}
{% macro same_columns(left, right, columns) -%}
    {%- for column in columns -%}
        {{ ' and ' if not loop.first }}{{ left }}.{{ column }} = {{ right }}.{{ column }}
    {%- endfor -%}
{%- endmacro %}
