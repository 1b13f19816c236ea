with

source as (
    select * from {{ source('lake', 'flow_role') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        flow_id,
        flow_number,
        role,
        fitting_rules
    from source
)

select * from final
