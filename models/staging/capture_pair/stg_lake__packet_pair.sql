with

source as (
    select * from {{ source('lake', 'packet_pair') }}
),

final as (
    select
        source_hash,
        decoder_version,
        packet_index,
        fate,
        before_ns,
        after_ns,
        queuing_delay_ns,
        packet_bytes,
        protocol,
        source_host_key,
        source_prefix_key,
        source_port,
        destination_host_key,
        destination_prefix_key,
        destination_port,
        ip_identification,
        transport_word
    from source
)

select * from final
