{#-
    Each line: quantity, source, scope, relation with the source's totals, and the columns of the minimum and the maximum. Captures do not
    show the fate of packets that were in flight when the second capture ended, so these may have passed or been dropped.
-#}
{%- set values = [
    ('packets', 'queue_log', 'declared_flows', 'log_totals', 'declared_dequeued_packets', 'declared_dequeued_packets'),
    ('packets', 'queue_log', 'between_polls', 'log_totals', 'polled_least_dequeued_packets', 'polled_most_dequeued_packets'),
    ('packets', 'capture_pair', 'declared_flows', 'pair_totals', 'declared_passed_packets', 'declared_passed_packets + declared_in_flight_packets'),
    ('packets', 'capture_pair', 'between_polls', 'pair_totals', 'polled_least_passed_packets', 'polled_most_passed_packets'),
    ('packets', 'queue_counters', 'between_polls', 'counter_spans', 'sent_packets', 'sent_packets'),
    ('bytes', 'queue_log', 'declared_flows', 'log_totals', 'declared_dequeued_bytes', 'declared_dequeued_bytes'),
    ('bytes', 'queue_log', 'between_polls', 'log_totals', 'polled_least_dequeued_bytes', 'polled_most_dequeued_bytes'),
    ('bytes', 'capture_pair', 'declared_flows', 'pair_totals', 'declared_passed_bytes', 'declared_passed_bytes + declared_in_flight_bytes'),
    ('bytes', 'capture_pair', 'between_polls', 'pair_totals', 'polled_least_passed_bytes', 'polled_most_passed_bytes'),
    ('bytes', 'queue_counters', 'between_polls', 'counter_spans', 'sent_bytes', 'sent_bytes'),
    ('drops', 'queue_log', 'declared_flows', 'log_totals', 'declared_dropped_packets', 'declared_dropped_packets'),
    ('drops', 'queue_log', 'between_polls', 'log_totals', 'polled_least_dropped_packets', 'polled_most_dropped_packets'),
    ('drops', 'capture_pair', 'declared_flows', 'pair_totals', 'declared_dropped_packets', 'declared_dropped_packets + declared_in_flight_packets'),
    ('drops', 'capture_pair', 'between_polls', 'pair_totals', 'polled_least_dropped_packets', 'polled_most_dropped_packets'),
    ('drops', 'queue_counters', 'between_polls', 'counter_spans', 'dropped_packets', 'dropped_packets'),
    ('delay_mean', 'queue_log', 'declared_flows', 'delay_means', 'sojourn_mean_ms', 'sojourn_mean_ms'),
    ('delay_mean', 'capture_pair', 'declared_flows', 'delay_means', 'queuing_delay_mean_ms', 'queuing_delay_mean_ms'),
] -%}
with

log_totals as (
    select * from {{ ref('int_run_queue_log_total') }}
),

pair_totals as (
    select * from {{ ref('int_run_capture_pair_total') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

delay_means as (
    select * from {{ ref('int_run_delay_pair_mean') }}
),

final as (
    {%- for quantity, source, scope, totals, least, most in values %}
        {{ 'union all' if not loop.first }}
        select
            study_id,
            run_id,
            '{{ quantity }}' as quantity,
            '{{ source }}' as source,
            '{{ scope }}' as scope,
            cast({{ least }} as double) as least_value,
            cast({{ most }} as double) as most_value
        from {{ totals }}
    {%- endfor %}
)

select * from final
