{#-
    Text as a part of an id, whose parts are joined by slashes: a slash in it is escaped, and a value that is the word for a missing one
    begins with %. Without such a word, null stays null.

    missing: the word that stands for a missing value, or none.
-#}
{% macro id_part(text, missing=none) -%}
    {%- set escaped -%}
        replace(replace({{ text }}, '%', '%25'), '/', '%2F')
    {%- endset -%}
    {%- if missing is none -%}
        {{ escaped }}
    {%- else -%}
        coalesce(case when {{ text }} = '{{ missing }}' then '%' || {{ text }} else {{ escaped }} end, '{{ missing }}')
    {%- endif -%}
{%- endmacro %}
