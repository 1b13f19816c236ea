with

source as (
    select * from {{ source('lake', 'run_shaper') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        shaper,
        shaper_burst_bytes
    from source
)

select * from final
