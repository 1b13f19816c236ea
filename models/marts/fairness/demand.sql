with

demands as (
    select * from {{ ref('int_throughput_demand') }}
),

final as (
    select
        demand_id,
        study_id,
        role,
        application,
        bandwidth_bps,
        rtt_ms,
        queue_size_bdp,
        aqm,
        congestion_control,
        workload,
        demand_bps,
        demand_q1_bps,
        demand_q3_bps,
        demand_runs,
        excluded_runs,
        demand_null_reason
    from demands
)

select * from final
