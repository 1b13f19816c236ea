{#- A mart that leaves its dimensions to the build is a table of measures, over which the build makes the view of the mart's own name. -#}
{% macro generate_alias_name(custom_alias_name=none, node=none) -%}
    {{ node.name ~ ('_measures' if node.config.meta.dimensions else '') }}
{%- endmacro %}
