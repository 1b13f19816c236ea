-- If TCP does not fill the link in a solo run, the setup may have failed. As in PAM'21 section 4, such runs are flagged, not excluded: the
-- analyst decides. A run whose rate changes is not checked, because no single rate applies to it.
with

runs as (
    select * from {{ ref('int_run_given') }}
    where
        start_order = 'solo'
        and bandwidth_bps > 0
        and bandwidth_programme is null
),

run_roles as (
    select * from {{ ref('int_run_role') }}
    where
        role = 'tcp'
        and not competes
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
    where rate_bps is not null
),

thresholds as (
    select * from {{ ref('threshold') }}
    where threshold_id = 'solo-tcp-utilisation'
),

final as (
    select
        runs.study_id,
        runs.run_id,
        thresholds.threshold_id,
        thresholds.threshold_version,
        thresholds.threshold_value as minimum_utilisation_ratio,
        rates.rate_bps / runs.bandwidth_bps as utilisation_ratio,
        rates.rate_bps / runs.bandwidth_bps > thresholds.threshold_value as is_passed,
        case
            when not rates.rate_bps / runs.bandwidth_bps > thresholds.threshold_value then 'low_solo_utilisation'
        end as run_flag
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
    cross join thresholds
)

select * from final
