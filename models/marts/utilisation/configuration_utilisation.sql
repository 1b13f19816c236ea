with

configurations as (
    select * from {{ ref('configuration') }}
),

run_configurations as (
    select * from {{ ref('int_run_configuration') }}
),

profiles as (
    select * from {{ ref('run_utilisation_profile') }}
    where utilisation_ratio is not null
),

binned as (
    select
        run_configurations.configuration_id,
        profiles.run_id,
        profiles.utilisation_basis,
        profiles.exclusion_reason is null as is_counted,
        profiles.reconciliation_verdict = 'disagree' as disagrees,
        profiles.second,
        profiles.bytes,
        profiles.link_rate_bps,
        profiles.lost_events,
        case when profiles.exclusion_reason is null then profiles.utilisation_ratio end as utilisation_ratio,
        case
            when profiles.exclusion_reason is null then cast(round(profiles.utilisation_ratio * 1000000) as bigint)
        end as utilisation_millionths
    from profiles
    inner join run_configurations
        on
            profiles.study_id = run_configurations.study_id
            and profiles.run_id = run_configurations.run_id
),

summarised as (
    select
        configuration_id,
        utilisation_basis,
        count(distinct case when is_counted then run_id end) as runs,
        count(distinct case when not is_counted then run_id end) as excluded_runs,
        count(distinct case when is_counted and disagrees then run_id end) as disagreeing_runs,
        count(case when is_counted then 1 end) as seconds,
        -- Each second of a run has the run's lost events.
        cast(sum(case when is_counted and second = 0 then lost_events end) as bigint) as lost_events,
        cast(sum(case when is_counted then bytes end) as double) as bytes_sum,
        round({{ ordered_sum('case when is_counted then link_rate_bps end') }}, 3) as link_bits,
        -- Whole millionths add up to the same in any order.
        case
            when count(utilisation_millionths) > 1
                then
                    sqrt(
                        greatest(
                            cast(sum(utilisation_millionths * utilisation_millionths) as double)
                            - cast(sum(utilisation_millionths) as double) * cast(sum(utilisation_millionths) as double)
                            / count(utilisation_millionths),
                            0
                        )
                        / (count(utilisation_millionths) - 1)
                    )
                    / 1000000
        end as utilisation_standard_deviation_ratio,
        min(utilisation_ratio) as utilisation_min_ratio,
        percentile_cont(0.25) within group (order by utilisation_ratio) as utilisation_q1_ratio,
        median(utilisation_ratio) as utilisation_median_ratio,
        percentile_cont(0.75) within group (order by utilisation_ratio) as utilisation_q3_ratio,
        max(utilisation_ratio) as utilisation_max_ratio
    from binned
    group by
        configuration_id,
        utilisation_basis
),

final as (
    select
        summarised.configuration_id,
        summarised.utilisation_basis,
        configurations.study_id,
        configurations.workload,
        configurations.direction,
        configurations.bandwidth_bps,
        configurations.rtt_ms,
        configurations.aqm,
        configurations.queue_size_bdp,
        configurations.queue_size_bytes,
        configurations.queue_limit_packets,
        configurations.queue_label,
        configurations.congestion_control,
        configurations.application,
        configurations.start_order,
        configurations.testbed,
        configurations.queue_scheme,
        configurations.congested_direction,
        configurations.participants,
        configurations.call_view,
        configurations.ecn,
        configurations.l4s,
        configurations.synthetic,
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
    inner join configurations
        on summarised.configuration_id = configurations.configuration_id
)

select * from final
