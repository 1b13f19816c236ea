with

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
    select * from {{ ref('int_throughput_demand') }}
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
        coalesce(demands.excluded_runs, 0) as demand_excluded_runs,
        case when rates.rate_bps is not null then rates.rate_basis end as performance_basis,
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
        study_id,
        run_id,
        role,
        demand_id,
        demand_bps,
        demand_q1_bps,
        demand_q3_bps,
        demand_runs,
        demand_excluded_runs,
        performance_basis,
        performance_bps,
        case when harm_null_reason is null then (demand_bps - performance_bps) / demand_bps end as harm_ratio,
        harm_null_reason
    from judged
)

select * from final
