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
        options
    from source
)

select * from final
