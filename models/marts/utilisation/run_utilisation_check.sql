with

runs as (
    select * from {{ ref('int_run_described') }}
),

checks as (
    select * from {{ ref('int_run_utilisation_check') }}
),

final as (
    select
        checks.study_id,
        checks.run_id,
        {{ run_dimensions('runs') }},
        checks.threshold_id,
        checks.threshold_version,
        checks.minimum_utilisation_ratio,
        checks.utilisation_ratio,
        checks.is_passed
    from checks
    inner join runs
        on
            checks.study_id = runs.study_id
            and checks.run_id = runs.run_id
)

select * from final
