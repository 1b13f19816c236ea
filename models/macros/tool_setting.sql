{#- The setting that the workload of a tool's run names beside its test: two runs of one setting have the same text, whatever their tests. -#}
{% macro tool_setting(workload) -%}
    regexp_replace({{ workload }}, '^[^ ]+( streams=[0-9]+)?( bidir)?', '')
{%- endmacro %}
