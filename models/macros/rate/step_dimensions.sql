{#-
    What was set for the run of a profile, and whether it counts: the columns that the marts of a profile's steps carry after their key, so
    that each can be filtered and grouped without a join.
-#}
{% macro step_dimensions(profiles) -%}
    {%- for column in [
        'study_id', 'run_id', 'rate_basis', 'role', 'workload', 'direction', 'bandwidth_programme', 'rtt_ms', 'aqm', 'queue_size_bdp',
        'queue_size_bytes', 'queue_limit_packets', 'queue_label', 'congestion_control', 'application', 'rival_application', 'start_order', 'exclusion_reason',
    ] -%}
        {{ profiles }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
