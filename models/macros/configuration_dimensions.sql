{#-
    What was set for the runs of a configuration: the columns that marts of configurations carry after their key, so that each can be filtered
    and grouped without a join.

    without: columns that a mart does not have.
-#}
{% macro configuration_dimensions(configurations, without=[]) -%}
    {%- for column in [
        'study_id', 'workload', 'direction', 'bandwidth_bps', 'rtt_ms', 'aqm', 'queue_size_bdp', 'queue_size_bytes', 'queue_limit_packets',
        'queue_label', 'aqm_parameters', 'bandwidth_programme', 'congestion_control', 'application', 'rival_application', 'start_order', 'testbed', 'queue_scheme',
        'congested_direction', 'opposite_link', 'participants', 'call_view', 'ecn', 'l4s', 'synthetic',
    ] if column not in without -%}
        {{ configurations }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
