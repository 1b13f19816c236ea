with

source as (
    select * from {{ source('lake', 'demand_rule') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        role,
        application,
        selects,
        reason,
        bandwidth_rule,
        rtt_rule,
        queue_size_bdp_rule,
        aqm_rule,
        congestion_control_rule,
        workload_rule
    from source
)

select * from final
