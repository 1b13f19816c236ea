{#-
    Text as a part of an id, whose parts are joined by one of the separators: they are escaped in it, and a text that is one of the words
    begins with %, so that different values are different parts. Without a word for a missing value, null stays null.

    missing: the word that stands for a missing value, or none. words: other reserved words. separators: characters that join the parts.
-#}
{% macro id_part(text, missing=none, words=[], separators='/') -%}
    {%- set hexadecimal = {'/': '2F', '#': '23', ' ': '20'} -%}
    {%- set escaped = namespace(text="replace(" ~ text ~ ", '%', '%25')") -%}
    {%- for separator in separators -%}
        {%- set escaped.text = "replace(" ~ escaped.text ~ ", '" ~ separator ~ "', '%" ~ hexadecimal[separator] ~ "')" -%}
    {%- endfor -%}
    {%- set words = words + ([] if missing is none else [missing]) -%}
    {%- set part -%}
        {%- if words -%}
            case when {{ text }} in ('{{ words | join("', '") }}') then '%' || {{ text }} else {{ escaped.text }} end
        {%- else -%}
            {{ escaped.text }}
        {%- endif -%}
    {%- endset -%}
    {{ part if missing is none else "coalesce(" ~ part ~ ", '" ~ missing ~ "')" }}
{%- endmacro %}
