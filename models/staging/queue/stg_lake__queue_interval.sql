with

source as (
    select * from {{ source('lake', 'queue_interval') }}
),

final as (
    select
        source_hash,
        decoder_version,
        queue_number,
        interval_start_ns,
        clock,
        interval_ms,
        observed_ns,
        arrived_packets,
        arrived_bytes,
        departed_packets,
        departed_bytes,
        dropped_packets,
        dropped_bytes,
        dropped_at_enqueue_packets,
        dropped_in_queue_packets,
        occupancy_mean_packets,
        occupancy_mean_bytes,
        occupancy_max_packets,
        occupancy_max_bytes,
        busy_ratio,
        sojourn_min_us,
        lost_events
    from source
)

select * from final
