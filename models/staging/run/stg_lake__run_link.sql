with

source as (
    select * from {{ source('lake', 'run_link') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        direction,
        bandwidth_bps,
        delay_ms,
        aqm,
        queue_discipline,
        queue_size_bytes,
        queue_size_packets,
        queue_size_bdp,
        queue_scheme,
        queue_interface,
        queue_handle
    from source
)

select * from final
