with

source as (
    select * from {{ source('lake', 'capture_pair') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        before_hash,
        after_hash,
        bandwidth_bps,
        shaper_burst_bytes,
        before_packets,
        after_packets,
        sent_packets,
        delivered_packets,
        dropped_packets,
        in_flight_at_end_packets,
        not_seen_before_packets,
        queuing_delay_min_us,
        queuing_delay_avg_us,
        queuing_delay_max_us,
        reverse_matched_packets,
        delay_floor_ns,
        delay_floor_low_by_at_most_ns,
        clock_offset_ns,
        clock_drift_ppm,
        clock_residual_ns
    from source
)

select * from final
