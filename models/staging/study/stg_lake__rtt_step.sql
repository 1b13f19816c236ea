with

source as (
    select * from {{ source('lake', 'rtt_step') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        bandwidth_programme,
        step_number,
        second,
        rtt_ms
    from source
)

select * from final
