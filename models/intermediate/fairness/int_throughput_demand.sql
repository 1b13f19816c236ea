with

judged_roles as (
    select * from {{ ref('int_run_role_demand_rule') }}
),

solo_runs as (
    select * from {{ ref('int_demand_solo_run') }}
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
    where rate_bps is not null
),

selections as (
    select distinct
        demand_id,
        study_id,
        demand_role as role,
        application,
        selects,
        reason,
        {{ demand_selections() | join(',\n        ') }}
    from judged_roles
),

counted as (
    select
        solo_runs.demand_id,
        solo_runs.is_excluded,
        case when not solo_runs.is_excluded then rates.rate_bps end as rate_bps
    from solo_runs
    inner join rates
        on
            solo_runs.study_id = rates.study_id
            and solo_runs.run_id = rates.run_id
            and solo_runs.role = rates.role
),

selected_runs as (
    select
        demand_id,
        count(rate_bps) as demand_runs,
        count(case when is_excluded then 1 end) as excluded_runs,
        {{ percentile('rate_bps', 50) }} as demand_bps,
        {{ percentile('rate_bps', 25) }} as demand_q1_bps,
        {{ percentile('rate_bps', 75) }} as demand_q3_bps
    from counted
    group by demand_id
),

final as (
    select
        selections.demand_id,
        selections.study_id,
        selections.role,
        selections.application,
        cast(try_cast(selections.bandwidth_selection as double) as bigint) as bandwidth_bps,
        try_cast(selections.rtt_selection as double) as rtt_ms,
        try_cast(selections.queue_size_bdp_selection as double) as queue_size_bdp,
        nullif(selections.aqm_selection, 'any') as aqm,
        nullif(selections.congestion_control_selection, 'any') as congestion_control,
        nullif(selections.workload_selection, 'any') as workload,
        selected_runs.demand_bps,
        selected_runs.demand_q1_bps,
        selected_runs.demand_q3_bps,
        coalesce(selected_runs.demand_runs, 0) as demand_runs,
        coalesce(selected_runs.excluded_runs, 0) as excluded_runs,
        case
            when not selections.selects then coalesce(selections.reason, 'the study selects no solo run')
            when coalesce(selected_runs.demand_runs, 0) = 0 then 'no selected solo run'
        end as demand_null_reason
    from selections
    left join selected_runs
        on selections.demand_id = selected_runs.demand_id
)

select * from final
