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

shared_runs as (
    select
        run_roles.study_id,
        run_roles.run_id,
        max(case when run_roles.role = 'app' then rates.bytes end) as app_bytes,
        max(case when run_roles.role = 'tcp' then rates.bytes end) as tcp_bytes,
        max(case when run_roles.role = 'rival' then rates.bytes end) as rival_bytes
    from run_roles
    inner join rates
        on
            run_roles.study_id = rates.study_id
            and run_roles.run_id = rates.run_id
            and run_roles.role = rates.role
    group by run_roles.study_id, run_roles.run_id
),

compared as (
    select
        study_id,
        run_id,
        app_bytes,
        tcp_bytes,
        rival_bytes,
        cast(app_bytes as double) as app,
        -- Of a run, either a TCP flow or another application competes.
        cast(coalesce(rival_bytes, tcp_bytes) as double) as competitor
    from shared_runs
    where
        app_bytes is not null
        and coalesce(rival_bytes, tcp_bytes) is not null
),

final as (
    select
        compared.study_id,
        compared.run_id,
        {{ run_dimensions('runs') }},
        compared.app_bytes,
        compared.tcp_bytes,
        compared.rival_bytes,
        case
            when compared.app + compared.competitor = 0 then null
            when compared.app >= compared.competitor then 1 - compared.competitor / compared.app
            else -1 + compared.app / compared.competitor
        end as flow_rate_equality,
        compared.app / nullif(compared.app + compared.competitor, 0) as app_link_share_ratio,
        case
            when compared.tcp_bytes is not null then compared.competitor / nullif(compared.app + compared.competitor, 0)
        end as tcp_link_share_ratio,
        case
            when compared.rival_bytes is not null then compared.competitor / nullif(compared.app + compared.competitor, 0)
        end as rival_link_share_ratio,
        (compared.app + compared.competitor) * (compared.app + compared.competitor)
        / nullif(2 * (compared.app * compared.app + compared.competitor * compared.competitor), 0) as jain_index
    from compared
    inner join runs
        on
            compared.study_id = runs.study_id
            and compared.run_id = runs.run_id
)

select * from final
