with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

demand_rules as (
    select * from {{ ref('stg_lake__demand_rule') }}
),

-- A rival is an application: the rules and solo runs of its application are its demand.
subjects as (
    select
        study_id,
        run_id,
        role,
        case when role = 'rival' then 'app' else role end as demand_role,
        application
    from run_roles
    where competes
),

-- A rule for the application itself has precedence over one for every application.
ranked as (
    select
        subjects.study_id,
        subjects.run_id,
        subjects.role,
        subjects.demand_role,
        subjects.application,
        demand_rules.selects,
        demand_rules.reason,
        {{ demand_rule_selection('demand_rules.bandwidth_rule', 'runs.bandwidth_bps') }} as bandwidth_selection,
        {{ demand_rule_selection('demand_rules.rtt_rule', 'runs.rtt_ms') }} as rtt_selection,
        {{ demand_rule_selection('demand_rules.queue_size_bdp_rule', 'round(runs.queue_size_bdp, 2)') }} as queue_size_bdp_selection,
        {{ demand_rule_selection('demand_rules.aqm_rule', 'runs.aqm') }} as aqm_selection,
        {{ demand_rule_selection('demand_rules.congestion_control_rule', 'runs.congestion_control') }} as congestion_control_selection,
        {{ demand_rule_selection('demand_rules.workload_rule', 'runs.workload') }} as workload_selection,
        row_number() over (
            partition by subjects.study_id, subjects.run_id, subjects.role
            order by case when demand_rules.application = '*' then 1 else 0 end
        ) as preference
    from subjects
    inner join runs
        on
            subjects.study_id = runs.study_id
            and subjects.run_id = runs.run_id
    inner join demand_rules
        on
            subjects.study_id = demand_rules.study_id
            and subjects.demand_role = demand_rules.role
            and (demand_rules.application = '*' or subjects.application = demand_rules.application)
),

final as (
    select
        study_id,
        run_id,
        role,
        demand_role,
        study_id
        || '/' || coalesce(application, role)
        || '/bandwidth_bps=' || bandwidth_selection
        || '/rtt_ms=' || rtt_selection
        || '/queue_size_bdp=' || queue_size_bdp_selection
        || '/aqm=' || aqm_selection
        || '/congestion_control=' || congestion_control_selection
        || '/workload=' || workload_selection as demand_id,
        application,
        selects,
        reason,
        bandwidth_selection,
        rtt_selection,
        queue_size_bdp_selection,
        aqm_selection,
        congestion_control_selection,
        workload_selection
    from ranked
    where preference = 1
)

select * from final
