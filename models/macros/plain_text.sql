{#- A value as text; a whole number without its trailing `.0`, which is how a person writes it. -#}
{% macro plain_text(value) -%}
    regexp_replace(cast({{ value }} as string), '[.]0+$', '')
{%- endmacro %}
