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
        runs.workload,
        runs.direction,
        runs.bandwidth_bps,
        runs.rtt_ms,
        runs.aqm,
        runs.queue_size_bdp,
        runs.queue_size_bytes,
        runs.queue_label,
        runs.congestion_control,
        runs.application,
        runs.start_order,
        runs.repetition,
        runs.exclusion_reason,
        runs.synthetic,
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
