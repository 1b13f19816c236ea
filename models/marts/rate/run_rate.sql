with

runs as (
    select * from {{ ref('int_run_described') }}
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
),

final as (
    select
        rates.study_id,
        rates.run_id,
        rates.role,
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
        rates.rate_basis,
        rates.bytes,
        rates.packets,
        rates.window_ms,
        rates.rate_bps,
        rates.rate_bps / runs.bandwidth_bps as utilisation_ratio
    from rates
    inner join runs
        on
            rates.study_id = runs.study_id
            and rates.run_id = runs.run_id
)

select * from final
