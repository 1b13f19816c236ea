with

source as (
    select * from {{ source('lake', 'run_source') }}
),

numbered as (
    select
        *,
        row_number() over (partition by study_id, run_id, measurement order by source_hash) as place
    from source
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
    from numbered
    where place = 1
)

select * from final
