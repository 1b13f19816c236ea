with

runs as (
    select * from {{ ref('int_run_given') }}
),

tool_rates as (
    select * from {{ ref('int_run_tool_rate') }}
),

tool_roles as (
    select
        study_id,
        run_id,
        max(case when role = 'tcp' then 1 else 0 end) = 1 as saw_tcp,
        max(case when role = 'rival' then 1 else 0 end) = 1 as saw_rival
    from tool_rates
    group by study_id, run_id
),

present as (
    select
        runs.study_id,
        runs.run_id,
        runs.application,
        runs.rival_application,
        runs.application is not null as runs_app,
        runs.rival_application is not null or coalesce(tool_roles.saw_rival, false) as runs_rival,
        -- A study may state a congestion control even for solo runs of an application, in which no TCP flow ran.
        (runs.congestion_control is not null and not (runs.start_order = 'solo' and runs.application is not null))
        -- A tool sees TCP flows without knowing their congestion control.
        or coalesce(tool_roles.saw_tcp, false) as runs_tcp
    from runs
    left join tool_roles
        on
            runs.study_id = tool_roles.study_id
            and runs.run_id = tool_roles.run_id
),

app_roles as (
    select
        study_id,
        run_id,
        'app' as role,
        application,
        runs_tcp or runs_rival as competes
    from present
    where runs_app
),

tcp_roles as (
    select
        study_id,
        run_id,
        'tcp' as role,
        cast(null as string) as application,
        runs_app or runs_rival as competes
    from present
    where runs_tcp
),

rival_roles as (
    select
        study_id,
        run_id,
        'rival' as role,
        rival_application as application,
        runs_app or runs_tcp as competes
    from present
    where runs_rival
),

final as (
    select * from app_roles
    union all
    select * from tcp_roles
    union all
    select * from rival_roles
)

select * from final
