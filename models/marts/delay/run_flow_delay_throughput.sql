with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

rates as (
    select * from {{ ref('run_rate') }}
    where role in {{ competing_roles() }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
    where role in {{ competing_roles() }}
),

final as (
    select
        rates.study_id,
        rates.run_id,
        rates.role,
        rates.rate_basis,
        rates.rate_bps,
        rates.utilisation_ratio,
        delays.delay_basis,
        delays.packets,
        delays.lost_events,
        delays.mean_ms as queuing_delay_mean_ms,
        delays.median_ms as queuing_delay_median_ms,
        delays.p95_ms as queuing_delay_p95_ms,
        reconciliations.reconciliation_verdict
    from rates
    inner join delays
        on
            rates.study_id = delays.study_id
            and rates.run_id = delays.run_id
            and rates.role = delays.role
    left join reconciliations
        on
            rates.study_id = reconciliations.study_id
            and rates.run_id = reconciliations.run_id
    where rates.rate_bps is not null
)

select * from final
