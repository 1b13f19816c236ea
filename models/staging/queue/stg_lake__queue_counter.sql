with

source as (
    select * from {{ source('lake', 'queue_counter') }}
),

final as (
    select
        source_hash,
        decoder_version,
        poll_index,
        poll_start_ns,
        poll_end_ns,
        device,
        kind,
        handle,
        parent,
        root,
        sent_bytes,
        sent_packets,
        dropped_packets,
        overlimits,
        requeues,
        backlog_bytes,
        backlog_packets,
        ecn_marked_packets,
        codel_count,
        codel_last_count,
        codel_delay_us,
        codel_dropping,
        codel_drop_next_us,
        max_packet_bytes,
        dropped_overlimit_packets,
        new_flows,
        old_flows,
        new_flow_count,
        options,
        is_class,
        marking_probability_ratio,
        queue_delay_us,
        enqueued_packets,
        dropped_aqm_packets,
        dropped_overmemory_packets,
        dropped_otherwise_packets,
        step_marked_packets,
        backlog_max_packets,
        memory_used_bytes,
        memory_limit_bytes,
        lent_packets,
        borrowed_packets,
        credit_bytes,
        capacity_estimate_bps,
        shaper_rate_bps,
        diffserv_mode,
        network_min_bytes,
        network_max_bytes,
        adjusted_min_bytes,
        adjusted_max_bytes,
        header_offset_mean_bytes
    from source
)

select * from final
