{#- Options in the workload of a tool's run, without its test, streams and bidir: runs with the same options have the same text. -#}
{% macro tool_setting(workload) -%}
    regexp_replace({{ workload }}, '^[^ ]+( streams=[0-9]+)?( bidir)?', '')
{%- endmacro %}
