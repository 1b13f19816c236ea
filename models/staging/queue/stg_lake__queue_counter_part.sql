with

source as (
    select * from {{ source('lake', 'queue_counter_part') }}
),

final as (
    select
        source_hash,
        decoder_version,
        poll_index,
        device,
        handle,
        part_number,
        part_name,
        sent_bytes,
        sent_packets,
        dropped_packets,
        ecn_marked_packets,
        dropped_acknowledgements,
        backlog_bytes,
        peak_delay_us,
        mean_delay_us,
        base_delay_us,
        target_us,
        interval_us,
        sparse_flows,
        bulk_flows,
        unresponsive_flows,
        max_packet_bytes,
        flow_quantum_bytes,
        way_indirect_hits,
        way_misses,
        way_collisions,
        threshold_rate_bps,
        queue_delay_us,
        enqueued_packets
    from source
)

select * from final
