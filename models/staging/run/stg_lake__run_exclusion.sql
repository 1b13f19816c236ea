with

source as (
    select * from {{ source('lake', 'run_exclusion') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        exclusion_reason
    from source
)

select * from final
