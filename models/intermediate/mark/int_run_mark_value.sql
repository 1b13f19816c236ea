{#-
    Each line: source, scope, relation, and the columns of the minimum and the maximum; a null maximum means no upper bound. The queue log
    and the counters cover only the direction of the data. declared_tcp are the declared TCP flows, because only TCP echoes marks visibly.
-#}
{%- set values = [
    ('queue_log', 'declared_flows', 'queues', 'declared_least_packets', 'declared_most_packets'),
    ('queue_log', 'declared_tcp', 'queues', 'declared_tcp_least_packets', 'declared_tcp_most_packets'),
    ('queue_log', 'between_polls', 'queues', 'polled_least_packets', 'polled_most_packets'),
    ('queue_counters', 'between_polls', 'queues', 'counted_least_packets', 'counted_most_packets'),
    ('queue_counters', 'all_flows', 'queues', 'counted_least_packets', 'counted_most_packets'),
    ('wire', 'declared_flows', 'captures', 'declared_least_packets', 'declared_most_packets'),
    ('wire', 'declared_tcp', 'captures', 'declared_tcp_least_packets', 'declared_tcp_most_packets'),
    ('wire', 'between_polls', 'captures', 'polled_least_packets', 'polled_most_packets'),
    ('echo', 'declared_tcp', 'captures', 'declared_tcp_echoed_least_packets', 'declared_tcp_echoed_most_packets'),
    ('echo', 'all_flows', 'captures', 'tcp_echoed_least_packets', 'tcp_echoed_most_packets'),
] -%}
with

directions as (
    select * from {{ ref('int_run_mark_direction') }}
),

captures as (
    select * from {{ ref('int_run_mark_capture') }}
),

queues as (
    select * from {{ ref('int_run_mark_queue') }}
),

final as (
    {%- for source, scope, totals, least, most in values %}
        {{ 'union all' if not loop.first }}
        select
            directions.study_id,
            directions.run_id,
            directions.mark_direction,
            '{{ source }}' as source,
            '{{ scope }}' as scope,
            {{ totals }}.{{ least }} as least_packets,
            {{ totals }}.{{ most }} as most_packets
        from directions
        inner join {{ totals }}
            on
                directions.study_id = {{ totals }}.study_id
                and directions.run_id = {{ totals }}.run_id
                {% if totals == 'captures' -%}
                    and directions.mark_direction = captures.mark_direction
                {%- else -%}
                    and directions.mark_direction = 'data'
                {%- endif %}
    {%- endfor %}
)

select * from final
