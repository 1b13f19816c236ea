with

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
        max(case when run_roles.role = 'rival' then rates.bytes end) as rival_bytes,
        -- Flows in opposite directions have two bases.
        case
            when min(rates.rate_basis) = max(rates.rate_basis) then min(rates.rate_basis)
            else min(rates.rate_basis) || ' and ' || max(rates.rate_basis)
        end as rate_basis
    from run_roles
    inner join rates
        on
            run_roles.study_id = rates.study_id
            and run_roles.run_id = rates.run_id
            and run_roles.role = rates.role
    group by run_roles.study_id, run_roles.run_id
),

-- In a run, either a TCP flow or another application competes with the application, or two TCP flows compete with each other.
compared as (
    select
        study_id,
        run_id,
        app_bytes,
        tcp_bytes,
        rival_bytes,
        rate_basis,
        cast(coalesce(app_bytes, tcp_bytes) as double) as first_side,
        cast(case when app_bytes is null then rival_bytes else coalesce(rival_bytes, tcp_bytes) end as double) as competitor
    from shared_runs
),

final as (
    select
        compared.study_id,
        compared.run_id,
        compared.rate_basis,
        compared.app_bytes,
        compared.tcp_bytes,
        compared.rival_bytes,
        case
            when compared.first_side + compared.competitor = 0 then null
            when compared.first_side >= compared.competitor then 1 - compared.competitor / compared.first_side
            else -1 + compared.first_side / compared.competitor
        end as flow_rate_equality,
        case
            when compared.app_bytes is not null then compared.first_side / nullif(compared.first_side + compared.competitor, 0)
        end as app_link_share_ratio,
        case
            when compared.tcp_bytes is null then null
            when compared.app_bytes is null then compared.first_side / nullif(compared.first_side + compared.competitor, 0)
            else compared.competitor / nullif(compared.first_side + compared.competitor, 0)
        end as tcp_link_share_ratio,
        case
            when compared.rival_bytes is not null then compared.competitor / nullif(compared.first_side + compared.competitor, 0)
        end as rival_link_share_ratio,
        (compared.first_side + compared.competitor) * (compared.first_side + compared.competitor)
        / nullif(2 * (compared.first_side * compared.first_side + compared.competitor * compared.competitor), 0) as jain_index
    from compared
    where
        compared.first_side is not null
        and compared.competitor is not null
)

select * from final
