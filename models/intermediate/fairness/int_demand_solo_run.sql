with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

judged_roles as (
    select * from {{ ref('int_run_role_demand_rule') }}
    where selects
),

tool_rates as (
    select * from {{ ref('int_run_tool_rate') }}
),

selections as (
    select distinct
        demand_id,
        study_id,
        demand_role as role,
        application,
        {{ demand_selections() | join(',\n        ') }},
        tool_selection
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
        case when tool_rates.flows = 1 then tool_rates.rate_basis || {{ tool_setting('runs.workload') }} end as tool_text,
        runs.exclusion_reason is not null as is_excluded
    from runs
    inner join run_roles
        on
            runs.study_id = run_roles.study_id
            and runs.run_id = run_roles.run_id
    left join tool_rates
        on
            run_roles.study_id = tool_rates.study_id
            and run_roles.run_id = tool_rates.run_id
            and run_roles.role = tool_rates.role
    where
        not run_roles.competes
        and runs.start_order = 'solo'
),

final as (
    select
        selections.demand_id,
        solo_runs.study_id,
        solo_runs.run_id,
        solo_runs.role,
        solo_runs.is_excluded
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
            and (selections.tool_selection = 'any' or selections.tool_selection = solo_runs.tool_text)
)

select * from final
