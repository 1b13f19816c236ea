with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
    where competes
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
),

judged_roles as (
    select * from {{ ref('int_run_role_demand_rule') }}
),

demands as (
    select * from {{ ref('demand') }}
),

judged as (
    select
        run_roles.study_id,
        run_roles.run_id,
        run_roles.role,
        judged_roles.demand_id,
        demands.demand_bps,
        demands.demand_q1_bps,
        demands.demand_q3_bps,
        coalesce(demands.demand_runs, 0) as demand_runs,
        rates.rate_bps as performance_bps,
        case
            when judged_roles.demand_id is null then 'no demand rule'
            when demands.demand_bps is null then demands.demand_null_reason
            when demands.demand_bps = 0 then 'demand is 0'
            when rates.run_id is null then 'no measured rate'
            when rates.rate_bps is null then 'no flow of the run in the capture'
        end as harm_null_reason
    from run_roles
    left join rates
        on
            run_roles.study_id = rates.study_id
            and run_roles.run_id = rates.run_id
            and run_roles.role = rates.role
    left join judged_roles
        on
            run_roles.study_id = judged_roles.study_id
            and run_roles.run_id = judged_roles.run_id
            and run_roles.role = judged_roles.role
    left join demands
        on judged_roles.demand_id = demands.demand_id
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.role,
        'throughput' as harm_metric,
        runs.workload,
        runs.direction,
        runs.bandwidth_bps,
        runs.rtt_ms,
        runs.aqm,
        runs.queue_size_bdp,
        runs.queue_size_bytes,
        runs.queue_label,
        runs.congestion_control,
        runs.application,
        runs.start_order,
        runs.repetition,
        runs.exclusion_reason,
        runs.synthetic,
        judged.demand_id,
        judged.demand_bps,
        judged.demand_q1_bps,
        judged.demand_q3_bps,
        judged.demand_runs,
        judged.performance_bps,
        case
            when judged.harm_null_reason is null then (judged.demand_bps - judged.performance_bps) / judged.demand_bps
        end as harm_ratio,
        judged.harm_null_reason
    from judged
    inner join runs
        on
            judged.study_id = runs.study_id
            and judged.run_id = runs.run_id
)

select * from final
