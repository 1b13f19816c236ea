with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
),

judged_roles as (
    select * from {{ ref('int_run_role_demand_rule') }}
),

selections as (
    select distinct
        demand_id,
        study_id,
        role,
        application,
        selects,
        reason,
        bandwidth_selection,
        rtt_selection,
        queue_size_bdp_selection,
        aqm_selection,
        congestion_control_selection,
        workload_selection
    from judged_roles
),

solo_runs as (
    select
        runs.study_id,
        runs.run_id,
        run_roles.role,
        run_roles.application,
        runs.bandwidth_bps,
        runs.rtt_ms,
        runs.queue_size_bdp,
        runs.aqm,
        runs.congestion_control,
        runs.workload,
        rates.rate_bps
    from runs
    inner join run_roles
        on
            runs.study_id = run_roles.study_id
            and runs.run_id = run_roles.run_id
    inner join rates
        on
            run_roles.study_id = rates.study_id
            and run_roles.run_id = rates.run_id
            and run_roles.role = rates.role
    where
        not run_roles.competes
        and runs.start_order = 'solo'
        and runs.exclusion_reason is null
        and rates.rate_bps is not null
),

selected_runs as (
    select
        selections.demand_id,
        count(*) as demand_runs,
        median(solo_runs.rate_bps) as demand_bps,
        percentile_cont(0.25) within group (order by solo_runs.rate_bps) as demand_q1_bps,
        percentile_cont(0.75) within group (order by solo_runs.rate_bps) as demand_q3_bps
    from selections
    inner join solo_runs
        on
            selections.study_id = solo_runs.study_id
            and selections.role = solo_runs.role
            and (selections.role = 'tcp' or selections.application = solo_runs.application)
            and {{ demand_selection_matches_number('selections.bandwidth_selection', 'solo_runs.bandwidth_bps') }}
            and {{ demand_selection_matches_number('selections.rtt_selection', 'solo_runs.rtt_ms') }}
            and {{ demand_selection_matches_number('selections.queue_size_bdp_selection', 'solo_runs.queue_size_bdp', 0.01) }}
            and {{ demand_selection_matches('selections.aqm_selection', 'solo_runs.aqm') }}
            and {{ demand_selection_matches('selections.congestion_control_selection', 'solo_runs.congestion_control') }}
            and {{ demand_selection_matches('selections.workload_selection', 'solo_runs.workload') }}
    where selections.selects
    group by selections.demand_id
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
        case
            when not selections.selects then coalesce(selections.reason, 'the study selects no solo run')
            when selected_runs.demand_runs is null then 'no selected solo run'
        end as demand_null_reason
    from selections
    left join selected_runs
        on selections.demand_id = selected_runs.demand_id
)

select * from final
