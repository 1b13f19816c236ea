{#- A mart whose dimensions the build adds is a table of measures; the build creates a view with the mart's name over it. -#}
{% macro generate_alias_name(custom_alias_name=none, node=none) -%}
    {{ node.name ~ ('_measures' if node.config.meta.dimensions else '') }}
{%- endmacro %}
