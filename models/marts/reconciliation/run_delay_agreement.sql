with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

delay_pairs as (
    select * from {{ ref('int_packet_delay_pair') }}
    where difference_ns is not null
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

summarised as (
    select
        study_id,
        run_id,
        {{ delay_difference_figures() }}
    from delay_pairs
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
