-- A configuration's name merges what is missing with the word for it: runs that differ there must not be pooled unnoticed.
{%- set dimensions = [
    'study_id', 'application', 'rival_application', 'workload', 'direction', 'bandwidth_bps', 'rtt_ms', 'aqm', 'queue_size_bdp',
    'queue_size_bytes', 'queue_limit_packets', 'congestion_control', 'start_order', 'aqm_parameters', 'bandwidth_programme', 'testbed', 'queue_scheme', 'congested_direction', 'opposite_link',
    'participants', 'call_view', 'ecn', 'l4s', 'synthetic'
] %}
select configuration_id
from {{ ref('int_run_configuration') }}
group by configuration_id
having
    {%- for dimension in dimensions %}
        {% if not loop.first %}or {% endif -%}
        count(distinct {{ dimension }}) + max(case when {{ dimension }} is null then 1 else 0 end) > 1
    {%- endfor %}
