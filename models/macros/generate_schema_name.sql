{#- A model's schema is the folder it is in (staging, intermediate, marts), without the target's schema in front. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or node.original_file_path.split('/')[0] }}
{%- endmacro %}
