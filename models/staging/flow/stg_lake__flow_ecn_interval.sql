with

source as (
    select * from {{ source('lake', 'flow_ecn_interval') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        interval_start_ns,
        interval_ms,
        ect0_packets,
        ect0_bytes,
        ect1_packets,
        ect1_bytes,
        ce_packets,
        ce_bytes
    from source
)

select * from final
