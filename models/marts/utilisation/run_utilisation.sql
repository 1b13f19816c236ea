with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

profiles as (
    select
        *,
        cast(round(utilisation_ratio * 1000000) as bigint) as utilisation_millionths
    from {{ ref('run_utilisation_profile') }}
    where utilisation_ratio is not null
),

summarised as (
    select
        study_id,
        run_id,
        max(utilisation_basis) as utilisation_basis,
        max(lost_events) as lost_events,
        count(*) as seconds,
        cast(sum(bytes) as bigint) as bytes,
        round({{ ordered_sum('link_rate_bps') }}, 3) as link_bits,
        {{ utilisation_spread() }}
    from profiles
    group by study_id, run_id
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.utilisation_basis,
        summarised.seconds,
        summarised.lost_events,
        cast(summarised.bytes as double) * 8 / summarised.link_bits as utilisation_mean_ratio,
        summarised.utilisation_standard_deviation_ratio,
        summarised.utilisation_min_ratio,
        summarised.utilisation_q1_ratio,
        summarised.utilisation_median_ratio,
        summarised.utilisation_q3_ratio,
        summarised.utilisation_max_ratio,
        reconciliations.reconciliation_verdict
    from summarised
    left join reconciliations
        on
            summarised.study_id = reconciliations.study_id
            and summarised.run_id = reconciliations.run_id
)

select * from final
