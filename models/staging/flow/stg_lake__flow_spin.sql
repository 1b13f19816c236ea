with

source as (
    select * from {{ source('lake', 'flow_spin') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        quic_version_number,
        short_header_packets,
        spin_packets,
        edges
    from source
)

select * from final
