with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

delay_pairs as (
    select * from {{ ref('int_packet_delay_pair') }}
    where difference_ns is not null
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

judged as (
    select
        delay_pairs.study_id,
        delay_pairs.run_id,
        delay_pairs.difference_ns,
        abs(delay_pairs.difference_ns) > thresholds.threshold_value * 8000000000 / runs.bandwidth_bps as is_beyond_frame
    from delay_pairs
    inner join runs
        on
            delay_pairs.study_id = runs.study_id
            and delay_pairs.run_id = runs.run_id
    cross join thresholds
),

summarised as (
    select
        study_id,
        run_id,
        {{ delay_difference_figures() }}
    from judged
    group by study_id, run_id
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.packets,
        summarised.beyond_frame_packets,
        queue_logs.lost_events,
        summarised.difference_mean_ms,
        summarised.difference_p5_ms,
        summarised.difference_q1_ms,
        summarised.difference_median_ms,
        summarised.difference_q3_ms,
        summarised.difference_p95_ms,
        summarised.difference_min_ms,
        summarised.difference_max_ms,
        reconciliations.reconciliation_verdict
    from summarised
    inner join runs
        on
            summarised.study_id = runs.study_id
            and summarised.run_id = runs.run_id
    inner join queue_logs
        on
            summarised.study_id = queue_logs.study_id
            and summarised.run_id = queue_logs.run_id
    left join reconciliations
        on
            summarised.study_id = reconciliations.study_id
            and summarised.run_id = reconciliations.run_id
)

select * from final
