with

source as (
    select * from {{ source('lake', 'run_measurement') }}
),

numbered as (
    select
        *,
        row_number() over (partition by study_id, run_id, role order by source_hash) as place
    from source
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
    from numbered
    where place = 1
)

select * from final
