with

source as (
    select * from {{ source('lake', 'run_block') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        block
    from source
)

select * from final
