with

source as (
    select * from {{ source('lake', 'run_rival') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        rival_application
    from source
)

select * from final
