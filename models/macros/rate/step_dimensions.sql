{#-
    Configuration of a profile's run, and whether the run counts: columns that the marts of a profile's steps have after their key, so you
    can filter and group them without a join.
-#}
{% macro step_dimensions(profiles) -%}
    {%- for column in [
        'study_id', 'run_id', 'rate_basis', 'role', 'workload', 'direction', 'bandwidth_programme', 'rtt_ms', 'aqm', 'queue_size_bdp',
        'queue_size_bytes', 'queue_limit_packets', 'queue_label', 'congestion_control', 'application', 'rival_application', 'start_order', 'exclusion_reason',
    ] -%}
        {{ profiles }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
