with

configurations as (
    select * from {{ ref('configuration') }}
),

runs as (
    select * from {{ ref('run') }}
),

verdicts as (
    select * from {{ ref('run_delay_verdict') }}
),

delay_classes as (
    select * from {{ ref('delay_class') }}
),

student_t_quantiles as (
    select * from {{ ref('student_t_quantile') }}
),

run_means as (
    select
        runs.configuration_id,
        verdicts.role,
        verdicts.delay_basis,
        runs.exclusion_reason is null as is_counted,
        verdicts.reconciliation_verdict = 'disagree' as disagrees,
        verdicts.packets,
        verdicts.lost_events,
        verdicts.maximum_delay_ms,
        verdicts.mean_ms,
        cast(round(verdicts.mean_share_of_maximum_ratio * 1000000000) as decimal(38, 0)) as mean_share_of_maximum_billionths,
        -- Sums of whole numbers do not depend on the order. Squares of nanoseconds would not fit into 64 bits.
        cast(round(verdicts.mean_ms * 1000000) as bigint) as mean_ns,
        cast(round(verdicts.mean_ms * 1000) as decimal(19, 0)) as mean_us
    from verdicts
    inner join runs
        on
            verdicts.study_id = runs.study_id
            and verdicts.run_id = runs.run_id
),

summarised as (
    select
        configuration_id,
        role,
        delay_basis,
        count(case when is_counted then 1 end) as runs,
        count(case when not is_counted then 1 end) as excluded_runs,
        count(case when is_counted and disagrees then 1 end) as disagreeing_runs,
        cast(sum(case when is_counted then packets end) as bigint) as packets,
        cast(sum(case when is_counted then lost_events end) as bigint) as lost_events,
        max(maximum_delay_ms) as maximum_delay_ms,
        cast(sum(case when is_counted then mean_share_of_maximum_billionths end) as double)
        / count(case when is_counted then mean_share_of_maximum_billionths end)
        / 1000000000 as mean_share_of_maximum_ratio,
        cast(sum(case when is_counted then mean_ns end) as double) as sum_ns,
        cast(sum(case when is_counted then mean_us end) as double) as sum_us,
        cast(sum(case when is_counted then mean_us * mean_us end) as double) as sum_of_squares,
        {{ percentile('case when is_counted then mean_ms end', 25) }} as mean_q1_ms,
        {{ percentile('case when is_counted then mean_ms end', 50) }} as mean_median_ms,
        {{ percentile('case when is_counted then mean_ms end', 75) }} as mean_q3_ms
    from run_means
    group by
        configuration_id,
        role,
        delay_basis
),

estimated as (
    select
        *,
        sum_ns / nullif(runs, 0) / 1000000 as mean_ms,
        case
            when runs >= 2
                then sqrt(greatest(sum_of_squares - sum_us * sum_us / runs, 0) / (runs - 1) / runs) / 1000
        end as standard_error_ms
    from summarised
),

final as (
    select
        estimated.configuration_id,
        estimated.role,
        estimated.delay_basis,
        estimated.runs,
        estimated.excluded_runs,
        estimated.disagreeing_runs,
        estimated.packets,
        estimated.lost_events,
        estimated.mean_ms,
        estimated.mean_ms - student_t_quantiles.quantile * estimated.standard_error_ms as mean_lower_ms,
        estimated.mean_ms + student_t_quantiles.quantile * estimated.standard_error_ms as mean_upper_ms,
        case when estimated.runs >= 2 then student_t_quantiles.level_ratio end as level_ratio,
        case
            when estimated.runs = 0 then 'every run is excluded'
            when estimated.runs = 1 then 'one run'
        end as interval_null_reason,
        case when estimated.runs >= 2 then estimated.mean_q1_ms end as mean_q1_ms,
        case when estimated.runs >= 2 then estimated.mean_median_ms end as mean_median_ms,
        case when estimated.runs >= 2 then estimated.mean_q3_ms end as mean_q3_ms,
        estimated.maximum_delay_ms,
        estimated.mean_share_of_maximum_ratio,
        configurations.rtt_ms / 2 + estimated.mean_ms as one_way_delay_ms,
        queuing_delay_classes.delay_class as queuing_delay_class,
        delay_classes.delay_class,
        delay_classes.mapping_id as delay_class_mapping_id,
        delay_classes.mapping_version as delay_class_mapping_version
    from estimated
    inner join configurations
        on estimated.configuration_id = configurations.configuration_id
    left join student_t_quantiles
        -- Beyond the end of the table, its last row gives a slightly wider interval than needed.
        on student_t_quantiles.degrees_of_freedom = least(estimated.runs - 1, 200)
    left join delay_classes
        on
            configurations.rtt_ms / 2 + estimated.mean_ms > coalesce(delay_classes.above_ms, -1)
            and (configurations.rtt_ms / 2 + estimated.mean_ms <= delay_classes.at_most_ms or delay_classes.at_most_ms is null)
    left join delay_classes as queuing_delay_classes
        on
            estimated.mean_ms > coalesce(queuing_delay_classes.above_ms, -1)
            and (estimated.mean_ms <= queuing_delay_classes.at_most_ms or queuing_delay_classes.at_most_ms is null)
)

select * from final
