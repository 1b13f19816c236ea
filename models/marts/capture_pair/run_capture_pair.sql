with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

final as (
    select
        pairs.study_id,
        pairs.run_id,
        pairs.before_packets,
        pairs.after_packets,
        pairs.sent_packets,
        pairs.delivered_packets,
        pairs.dropped_packets,
        pairs.in_flight_at_end_packets,
        pairs.not_seen_before_packets,
        pairs.reverse_matched_packets,
        cast(pairs.dropped_packets as double) / nullif(pairs.delivered_packets + pairs.dropped_packets, 0) as loss_ratio,
        -- The minimum and maximum are whole microseconds, rounded down. The mean is exact, so it may exceed the maximum.
        cast(pairs.queuing_delay_min_us as double) / 1000 as one_way_queuing_delay_min_ms,
        pairs.queuing_delay_avg_us / 1000 as one_way_queuing_delay_mean_ms,
        cast(pairs.queuing_delay_max_us as double) / 1000 as one_way_queuing_delay_max_ms,
        pairs.delay_floor_ns,
        pairs.shaper_burst_bytes,
        pairs.delay_floor_low_by_at_most_ns,
        pairs.clock_offset_ns,
        pairs.clock_drift_ppm,
        pairs.clock_residual_ns,
        reconciliations.reconciliation_verdict
    from pairs
    left join reconciliations
        on
            pairs.study_id = reconciliations.study_id
            and pairs.run_id = reconciliations.run_id
)

select * from final
