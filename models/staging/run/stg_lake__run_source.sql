with

source as (
    select * from {{ source('lake', 'run_source') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        measurement,
        file_name,
        measurement_hash
    from source
)

select * from final
