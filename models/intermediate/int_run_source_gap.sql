-- Why a source of a run cannot be compared; null: it can. What is damaged or lost is a gap, not an agreement.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

capture_pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

statuses as (
    select
        study_id,
        run_id,
        max(case when measurement = 'queue_log' then status end) as queue_log_status,
        max(case when measurement = 'capture_before' then status end) as capture_before_status,
        max(case when measurement = 'capture_after' then status end) as capture_after_status,
        max(case when measurement = 'queue_counters' then status end) as queue_counters_status
    from run_sources
    group by study_id, run_id
),

final as (
    select
        runs.study_id,
        runs.run_id,
        case
            when statuses.queue_log_status is null then 'the run has no queue log'
            when statuses.queue_log_status = 'missing' then 'the queue log is not in the lake'
            when statuses.queue_log_status != 'ok' then 'the queue log is damaged'
            when queue_logs.lost_events > 0 then 'the queue log lost ' || {{ plain_text('queue_logs.lost_events') }} || ' events'
        end as queue_log_gap,
        case
            when
                statuses.capture_before_status is null or statuses.capture_after_status is null
                then 'the run has no captures before and after the bottleneck'
            when statuses.capture_before_status = 'missing' then 'the capture before the bottleneck is not in the lake'
            when statuses.capture_after_status = 'missing' then 'the capture after the bottleneck is not in the lake'
            when statuses.capture_before_status != 'ok' then 'the capture before the bottleneck is damaged'
            when statuses.capture_after_status != 'ok' then 'the capture after the bottleneck is damaged'
            when capture_pairs.run_id is null then 'the captures are not paired'
        end as capture_pair_gap,
        case
            when statuses.queue_counters_status is null then 'the run has no counters'
            when statuses.queue_counters_status = 'missing' then 'the counters are not in the lake'
            when statuses.queue_counters_status = 'rejected' then 'the counters are damaged'
            when counter_spans.run_id is null then 'the counters have no root discipline'
            else counter_spans.null_reason
        end as queue_counters_gap,
        coalesce(
            statuses.queue_log_status in ('partial', 'rejected')
            or queue_logs.lost_events > 0
            or statuses.capture_before_status in ('partial', 'rejected')
            or statuses.capture_after_status in ('partial', 'rejected')
            or statuses.queue_counters_status = 'rejected',
            false
        ) as is_incomplete
    from runs
    inner join statuses
        on
            runs.study_id = statuses.study_id
            and runs.run_id = statuses.run_id
    left join queue_logs
        on
            runs.study_id = queue_logs.study_id
            and runs.run_id = queue_logs.run_id
    left join capture_pairs
        on
            runs.study_id = capture_pairs.study_id
            and runs.run_id = capture_pairs.run_id
    left join counter_spans
        on
            runs.study_id = counter_spans.study_id
            and runs.run_id = counter_spans.run_id
)

select * from final
