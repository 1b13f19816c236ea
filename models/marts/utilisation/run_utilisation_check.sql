with

checks as (
    select * from {{ ref('int_run_utilisation_check') }}
),

final as (
    select
        checks.study_id,
        checks.run_id,
        checks.threshold_id,
        checks.threshold_version,
        checks.minimum_utilisation_ratio,
        checks.utilisation_ratio,
        checks.is_passed
    from checks
)

select * from final
