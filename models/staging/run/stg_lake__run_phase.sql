with

source as (
    select * from {{ source('lake', 'run_phase') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        phase,
        start_ms,
        end_ms
    from source
)

select * from final
