with

source as (
    select * from {{ source('lake', 'run_measurement') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        role,
        bytes,
        window_ms,
        queuing_delay_mean_ms,
        queue_mean_packets,
        drop_ratio
    from source
)

select * from final
