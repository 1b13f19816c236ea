{#- Setting in the workload of a tool's run, without the test: two runs with one setting have the same text, whatever their tests. -#}
{% macro tool_setting(workload) -%}
    regexp_replace({{ workload }}, '^[^ ]+( streams=[0-9]+)?( bidir)?', '')
{%- endmacro %}
