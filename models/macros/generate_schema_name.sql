{#- A model's schema is its folder (staging, intermediate, marts), without the target's schema as a prefix. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or node.original_file_path.split('/')[0] }}
{%- endmacro %}
