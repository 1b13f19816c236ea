-- State of the queue before freezes compared with calm seconds of the same call, over the calls of a configuration. A run is a call.
with

measured as (
    select * from {{ ref('run_freeze') }}
),

runs as (
    select * from {{ ref('run') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

run_freezes as (
    {{ with_exclusion_reason('measured') }}
),

differences as (
    select
        configuration_id,
        'queuing_delay_ms' as queue_metric,
        exclusion_reason,
        freezes,
        freezes_compared,
        calm_seconds,
        queuing_delay_difference_ms as difference
    from run_freezes

    union all

    select
        configuration_id,
        'dropped_ratio' as queue_metric,
        exclusion_reason,
        freezes,
        freezes_compared,
        calm_seconds,
        dropped_difference_ratio as difference
    from run_freezes
),

counted as (
    select
        configuration_id,
        queue_metric,
        count(case when exclusion_reason is null then 1 end) as calls,
        count(exclusion_reason) as excluded_runs,
        count(case when exclusion_reason is null and difference is not null then 1 end) as calls_compared,
        cast(sum(case when exclusion_reason is null then freezes else 0 end) as bigint) as freezes,
        cast(sum(case when exclusion_reason is null and difference is not null then freezes_compared else 0 end) as bigint)
            as freezes_compared,
        cast(sum(case when exclusion_reason is null and difference is not null then calm_seconds else 0 end) as bigint) as calm_seconds,
        median(case when exclusion_reason is null then difference end) as difference_median
    from differences
    group by
        configuration_id,
        queue_metric
),

ordered as (
    select
        configuration_id,
        queue_metric,
        difference,
        row_number() over (
            partition by configuration_id, queue_metric
            order by difference
        ) as difference_rank
    from differences
    where
        exclusion_reason is null
        and difference is not null
),

bounds as (
    select
        counted.configuration_id,
        counted.queue_metric,
        max(case when ordered.difference_rank = interval_ranks.lower_rank then ordered.difference end) as difference_lower,
        max(case when ordered.difference_rank = interval_ranks.upper_rank then ordered.difference end) as difference_upper
    from counted
    inner join interval_ranks
        on counted.calls_compared = interval_ranks.runs
    inner join ordered
        on
            counted.configuration_id = ordered.configuration_id
            and counted.queue_metric = ordered.queue_metric
    group by
        counted.configuration_id,
        counted.queue_metric
),

final as (
    select
        counted.configuration_id,
        counted.queue_metric,
        counted.calls,
        counted.excluded_runs,
        counted.calls_compared,
        counted.freezes,
        counted.freezes_compared,
        counted.calm_seconds,
        counted.difference_median,
        bounds.difference_lower,
        bounds.difference_upper,
        case
            when bounds.difference_lower > 0 then 'higher before freezes'
            when bounds.difference_upper < 0 then 'lower before freezes'
            else 'cannot tell'
        end as freeze_verdict,
        {{ median_interval_columns(
            'bounds.difference_lower', 'counted.calls_compared', unit="'call'",
            without='no call has both freezes and calm seconds with a queue log'
        ) }}
    from counted
    left join bounds
        on
            counted.configuration_id = bounds.configuration_id
            and counted.queue_metric = bounds.queue_metric
)

select * from final
