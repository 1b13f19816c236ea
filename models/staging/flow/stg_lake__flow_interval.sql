with

source as (
    select * from {{ source('lake', 'flow_interval') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        interval_start_ns,
        interval_ms,
        packets,
        bytes
    from source
)

select * from final
