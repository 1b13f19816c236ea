with

quantities as (
    select * from {{ ref('int_run_reconciliation_quantity') }}
),

comparisons as (
    select * from {{ ref('int_run_reconciliation_comparison') }}
),

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

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

valued as (
    select
        quantities.study_id,
        quantities.run_id,
        quantities.quantity,
        quantities.verdict,
        quantities.disagreement,
        quantities.gap,
        case
            when quantities.quantity = 'bytes' then 'bytes'
            when quantities.quantity = 'delay_mean' then 'ms'
            else 'packets'
        end as unit,
        case
            when quantities.quantity = 'packets' then cast(log_totals.dequeued_packets as double)
            when quantities.quantity = 'bytes' then cast(log_totals.dequeued_bytes as double)
            when quantities.quantity = 'drops' then cast(log_totals.dropped_packets as double)
            else delay_means.sojourn_mean_ms
        end as queue_log_value,
        case
            when quantities.quantity = 'packets' then cast(pair_totals.passed_packets as double)
            when quantities.quantity = 'bytes' then cast(pair_totals.passed_bytes as double)
            when quantities.quantity = 'drops' then cast(pair_totals.dropped_packets as double)
            else delay_means.queuing_delay_mean_ms
        end as capture_pair_value,
        case
            when quantities.quantity = 'packets' then cast(counter_spans.sent_packets as double)
            when quantities.quantity = 'bytes' then cast(counter_spans.sent_bytes as double)
            when quantities.quantity = 'drops' then cast(counter_spans.dropped_packets as double)
        end as queue_counters_value,
        case when quantities.quantity = 'delay_mean' then delay_means.packets end as delay_packets,
        queue_logs.lost_events
    from quantities
    left join log_totals
        on
            quantities.study_id = log_totals.study_id
            and quantities.run_id = log_totals.run_id
    left join pair_totals
        on
            quantities.study_id = pair_totals.study_id
            and quantities.run_id = pair_totals.run_id
    left join counter_spans
        on
            quantities.study_id = counter_spans.study_id
            and quantities.run_id = counter_spans.run_id
    left join delay_means
        on
            quantities.study_id = delay_means.study_id
            and quantities.run_id = delay_means.run_id
    left join queue_logs
        on
            quantities.study_id = queue_logs.study_id
            and quantities.run_id = queue_logs.run_id
),

differences as (
    select
        study_id,
        run_id,
        quantity,
        max(case when sources = 'queue_log+capture_pair' then difference end) as log_captures_difference,
        max(case when sources = 'queue_log+capture_pair' then bound end) as log_captures_bound,
        max(case when sources = 'queue_log+queue_counters' then difference end) as log_counters_difference,
        max(case when sources = 'queue_log+queue_counters' then bound end) as log_counters_bound,
        max(case when sources = 'capture_pair+queue_counters' then difference end) as captures_counters_difference,
        max(case when sources = 'capture_pair+queue_counters' then bound end) as captures_counters_bound,
        max(bound_version) as bound_version
    from comparisons
    group by study_id, run_id, quantity
),

final as (
    select
        valued.study_id,
        valued.run_id,
        valued.quantity,
        valued.unit,
        valued.queue_log_value,
        valued.capture_pair_value,
        valued.queue_counters_value,
        valued.delay_packets,
        valued.lost_events,
        differences.log_captures_difference,
        differences.log_captures_bound,
        differences.log_counters_difference,
        differences.log_counters_bound,
        differences.captures_counters_difference,
        differences.captures_counters_bound,
        differences.bound_version,
        valued.verdict,
        coalesce(valued.disagreement, case when valued.verdict = 'not_comparable' then valued.gap end) as reason,
        valued.gap as incomplete_reason
    from valued
    inner join differences
        on
            valued.study_id = differences.study_id
            and valued.run_id = differences.run_id
            and valued.quantity = differences.quantity
)

select * from final
