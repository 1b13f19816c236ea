with

runs as (
    select * from {{ ref('int_run_given') }}
),

present as (
    select
        study_id,
        run_id,
        application,
        rival_application,
        application is not null as runs_app,
        rival_application is not null as runs_rival,
        -- A study may give the name of a congestion control for its solo runs of an application too: no TCP ran there.
        congestion_control is not null and not (start_order = 'solo' and application is not null) as runs_tcp
    from runs
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
        runs_app as competes
    from present
    where runs_tcp
),

rival_roles as (
    select
        study_id,
        run_id,
        'rival' as role,
        rival_application as application,
        runs_app as competes
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
