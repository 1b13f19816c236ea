{#- A value as text; a whole number has no trailing `.0`. -#}
{% macro plain_text(value) -%}
    regexp_replace(cast({{ value }} as string), '[.]0+$', '')
{%- endmacro %}
