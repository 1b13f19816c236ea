with

runs as (
    select * from {{ ref('run') }}
),

profiles as (
    select * from {{ ref('run_utilisation_profile') }}
    where utilisation_ratio is not null
),

binned as (
    select
        runs.configuration_id,
        profiles.run_id,
        profiles.utilisation_basis,
        runs.exclusion_reason is null as is_counted,
        profiles.reconciliation_verdict = 'disagree' as disagrees,
        profiles.second,
        profiles.bytes,
        profiles.link_rate_bps,
        profiles.lost_events,
        case when runs.exclusion_reason is null then profiles.utilisation_ratio end as utilisation_ratio,
        case
            when runs.exclusion_reason is null then cast(round(profiles.utilisation_ratio * 1000000) as bigint)
        end as utilisation_millionths
    from profiles
    inner join runs
        on
            profiles.study_id = runs.study_id
            and profiles.run_id = runs.run_id
),

summarised as (
    select
        configuration_id,
        utilisation_basis,
        count(distinct case when is_counted then run_id end) as runs,
        count(distinct case when not is_counted then run_id end) as excluded_runs,
        count(distinct case when is_counted and disagrees then run_id end) as disagreeing_runs,
        count(case when is_counted then 1 end) as seconds,
        -- Every second of a run repeats the run's lost events.
        cast(sum(case when is_counted and second = 0 then lost_events end) as bigint) as lost_events,
        cast(sum(case when is_counted then bytes end) as double) as bytes_sum,
        round({{ ordered_sum('case when is_counted then link_rate_bps end') }}, 3) as link_bits,
        {{ utilisation_spread() }}
    from binned
    group by
        configuration_id,
        utilisation_basis
),

final as (
    select
        summarised.configuration_id,
        summarised.utilisation_basis,
        summarised.runs,
        summarised.excluded_runs,
        summarised.disagreeing_runs,
        summarised.seconds,
        summarised.lost_events,
        summarised.bytes_sum * 8 / summarised.link_bits as utilisation_mean_ratio,
        summarised.utilisation_standard_deviation_ratio,
        summarised.utilisation_min_ratio,
        summarised.utilisation_q1_ratio,
        summarised.utilisation_median_ratio,
        summarised.utilisation_q3_ratio,
        summarised.utilisation_max_ratio
    from summarised
)

select * from final
