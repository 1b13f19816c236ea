-- A run with both roles and a rate for each is in the fairness marts once, with harm or a reason for each role.
with

run_roles as (
    select * from {{ ref('int_run_role') }}
    where competes
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
),

equalities as (
    select * from {{ ref('run_flow_rate_equality') }}
),

harms as (
    select * from {{ ref('run_harm') }}
),

shared_rates as (
    select
        run_roles.study_id,
        run_roles.run_id,
        count(*) as roles,
        count(rates.bytes) as rated_roles
    from run_roles
    left join rates
        on
            run_roles.study_id = rates.study_id
            and run_roles.run_id = rates.run_id
            and run_roles.role = rates.role
    group by run_roles.study_id, run_roles.run_id
),

harm_counts as (
    select
        study_id,
        run_id,
        count(*) as harms
    from harms
    group by study_id, run_id
),

final as (
    select
        shared_rates.study_id,
        shared_rates.run_id
    from shared_rates
    left join equalities
        on
            shared_rates.study_id = equalities.study_id
            and shared_rates.run_id = equalities.run_id
    left join harm_counts
        on
            shared_rates.study_id = harm_counts.study_id
            and shared_rates.run_id = harm_counts.run_id
    where
        shared_rates.roles = 2
        and ((shared_rates.rated_roles = 2 and equalities.run_id is null) or coalesce(harm_counts.harms, 0) != 2)
)

select * from final
