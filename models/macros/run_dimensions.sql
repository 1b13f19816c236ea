{#-
    What was set for a run, and whether it counts: the columns that every mart of runs carries after its key, so that each can be filtered and
    grouped without a join. columns.yml declares them, in the group `run`.
-#}
{% macro run_dimensions(runs) -%}
    {%- for column in [
        'workload', 'direction', 'bandwidth_bps', 'rtt_ms', 'aqm', 'queue_size_bdp', 'queue_size_bytes', 'queue_limit_packets', 'queue_label',
        'congestion_control', 'application', 'rival_application', 'start_order', 'testbed', 'queue_scheme', 'congested_direction', 'opposite_link',
        'participants', 'call_view', 'ecn', 'l4s', 'repetition', 'exclusion_reason', 'run_flag',
        'synthetic',
    ] -%}
        {{ runs }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
