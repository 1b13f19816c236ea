with

source as (
    select * from {{ source('lake', 'packet') }}
),

final as (
    select
        source_hash,
        decoder_version,
        packet_index,
        flow_id,
        direction,
        packet_ns,
        packet_bytes,
        payload_bytes,
        hop_limit,
        ip_identification,
        congestion_experienced,
        tcp_sequence,
        tcp_acknowledgement,
        tcp_flags,
        tcp_window
    from source
)

select * from final
