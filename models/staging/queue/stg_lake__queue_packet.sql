with

source as (
    select * from {{ source('lake', 'queue_packet') }}
),

final as (
    select
        source_hash,
        decoder_version,
        packet_index,
        queue_number,
        fate,
        enqueue_ns,
        dequeue_ns,
        drop_ns,
        clock,
        sojourn_ns,
        drop_kind,
        drop_reason,
        drop_location,
        packet_bytes,
        enqueue_queue_packets,
        enqueue_queue_bytes,
        dequeue_queue_packets,
        dequeue_queue_bytes,
        drop_queue_packets,
        drop_queue_bytes,
        ecn_ce,
        ecn_ce_at_enqueue,
        ecn_codepoint_at_enqueue,
        interface_index,
        network_namespace,
        ethertype,
        protocol,
        source_host_key,
        source_prefix_key,
        source_port,
        destination_host_key,
        destination_prefix_key,
        destination_port,
        flow_label,
        ip_id,
        transport_word
    from source
)

select * from final
