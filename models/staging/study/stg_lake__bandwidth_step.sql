with

source as (
    select * from {{ source('lake', 'bandwidth_step') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        bandwidth_programme,
        step_number,
        second,
        bandwidth_bps
    from source
)

select * from final
