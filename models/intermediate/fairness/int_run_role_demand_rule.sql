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

tool_rates as (
    select * from {{ ref('int_run_tool_rate') }}
),

-- A rival application has the demand of its application: the same rules and solo runs. The second of two TCP flows counts as tcp.
subjects as (
    select
        study_id,
        run_id,
        role,
        case when role != 'rival' then role when application is null then 'tcp' else 'app' end as demand_role,
        application
    from run_roles
    where competes
),

-- A rule for a specific application takes precedence over one for every application.
ranked as (
    select
        subjects.study_id,
        subjects.run_id,
        subjects.role,
        subjects.demand_role,
        subjects.application,
        cast('any' as string) as tool_selection,
        demand_rules.selects,
        demand_rules.reason,
        {{ demand_rule_selection('demand_rules.bandwidth_rule', 'runs.bandwidth_bps', is_number=true) }} as bandwidth_selection,
        {{ demand_rule_selection('demand_rules.rtt_rule', 'runs.rtt_ms', is_number=true) }} as rtt_selection,
        {{ demand_rule_selection(
            'demand_rules.queue_size_bdp_rule', 'round(runs.queue_size_bdp, 2)', is_number=true
        ) }} as queue_size_bdp_selection,
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

ruled as (
    select * from ranked
    where preference = 1
),

-- A tool's results come without rules. A flow is compared with runs in which the tool had one flow in that direction, and everything else
-- is the same.
tool_ruled as (
    select
        subjects.study_id,
        subjects.run_id,
        subjects.role,
        subjects.demand_role,
        subjects.application,
        tool_rates.rate_basis || {{ tool_setting('runs.workload') }} as tool_selection,
        true as selects,
        cast(null as string) as reason,
        coalesce({{ plain_text('runs.bandwidth_bps') }}, 'none') as bandwidth_selection,
        coalesce({{ plain_text('runs.rtt_ms') }}, 'none') as rtt_selection,
        coalesce({{ plain_text('round(runs.queue_size_bdp, 2)') }}, 'none') as queue_size_bdp_selection,
        {{ id_part('runs.aqm', 'none', ['any']) }} as aqm_selection,
        case
            when subjects.demand_role = 'app' then 'any'
            -- The flows of one test may have different congestion controls. If the tool gives none for a role, the run's applies.
            else {{ id_part('coalesce(tool_rates.congestion_control, runs.congestion_control)', 'none', ['any']) }}
        end as congestion_control_selection,
        cast('any' as string) as workload_selection
    from subjects
    inner join tool_rates
        on
            subjects.study_id = tool_rates.study_id
            and subjects.run_id = tool_rates.run_id
            and subjects.role = tool_rates.role
    inner join runs
        on
            subjects.study_id = runs.study_id
            and subjects.run_id = runs.run_id
    left join ruled
        on
            subjects.study_id = ruled.study_id
            and subjects.run_id = ruled.run_id
            and subjects.role = ruled.role
    where ruled.run_id is null
),

together as (
    {%- for relation in ['ruled', 'tool_ruled'] %}
        {{ 'union all' if not loop.first }}
        select
            study_id,
            run_id,
            role,
            demand_role,
            application,
            selects,
            reason,
            {{ demand_selections() | join(',\n            ') }},
            tool_selection
        from {{ relation }}
    {%- endfor %}
),

final as (
    select
        study_id,
        run_id,
        role,
        demand_role,
        {{ id_part('study_id') }}
        || '/'
        || coalesce({{ id_part('application', words=['app', 'tcp']) }}, demand_role)
        || '/bandwidth_bps=' || bandwidth_selection
        || '/rtt_ms=' || rtt_selection
        || '/queue_size_bdp=' || queue_size_bdp_selection
        || '/aqm=' || aqm_selection
        || '/congestion_control=' || congestion_control_selection
        || '/workload=' || workload_selection
        || case when tool_selection = 'any' then '' else '/tool=' || {{ id_part('tool_selection') }} end as demand_id,
        application,
        selects,
        reason,
        {{ demand_selections() | join(',\n        ') }},
        tool_selection
    from together
)

select * from final
