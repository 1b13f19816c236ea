-- Delay before and under load. Hosts at different distances share only the delay that load adds, so the increase is computed per series.
-- The delays themselves pool all series only if their hosts are at the same distance.
with

delays as (
    select * from {{ ref('int_run_load_sample') }}
),

distances as (
    select threshold_value as difference_ms
    from {{ ref('threshold') }}
    where threshold_id = 'series-of-one-distance'
),

ranked as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        series_number,
        phase,
        value,
        row_number() over (
            partition by study_id, run_id, role, delay_basis, phase
            order by case when value is null then 1 else 0 end, value
        ) as delay_rank,
        count(value) over (
            partition by study_id, run_id, role, delay_basis, phase
        ) as answered,
        row_number() over (
            partition by study_id, run_id, role, delay_basis, series_number, phase
            order by case when value is null then 1 else 0 end, value
        ) as series_delay_rank,
        count(value) over (
            partition by study_id, run_id, role, delay_basis, series_number, phase
        ) as series_answered
    from delays
),

by_series as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        series_number,
        min(value) as least_ms,
        max(case when phase = 'loaded' and series_delay_rank = {{ quantile_rank(500, 'series_answered') }} then value end)
        - max(case when phase = 'idle' and series_delay_rank = {{ quantile_rank(500, 'series_answered') }} then value end) as increase_ms
    from ranked
    group by study_id, run_id, role, delay_basis, series_number
),

over_series as (
    select
        by_series.study_id,
        by_series.run_id,
        by_series.role,
        by_series.delay_basis,
        count(*) as series,
        count(by_series.increase_ms) as increase_series,
        median(by_series.increase_ms) as median_increase_ms,
        coalesce(
            max(by_series.least_ms) - min(by_series.least_ms)
            <= greatest(max(distances.difference_ms), min(by_series.least_ms) / cast(2 as double))
            or by_series.delay_basis like 'iperf%',
            true
        ) as is_of_one_distance
    from by_series
    cross join distances
    group by by_series.study_id, by_series.run_id, by_series.role, by_series.delay_basis
),

summarised as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        count(case when phase = 'idle' then value end) as idle_samples,
        max(case when phase = 'idle' and delay_rank = {{ quantile_rank(500, 'answered') }} then value end) as idle_median_ms,
        max(case when phase = 'idle' and delay_rank = {{ quantile_rank(950, 'answered') }} then value end) as idle_p95_ms,
        count(case when phase = 'loaded' then value end) as loaded_samples,
        sum(case when phase = 'loaded' and value is null then 1 else 0 end) as loaded_unanswered_samples,
        cast(sum(case when phase = 'loaded' then cast(value as decimal(38, 6)) end) as double)
        / nullif(count(case when phase = 'loaded' then value end), 0) as loaded_mean_ms,
        max(case when phase = 'loaded' and delay_rank = {{ quantile_rank(500, 'answered') }} then value end) as loaded_median_ms,
        max(case when phase = 'loaded' and delay_rank = {{ quantile_rank(950, 'answered') }} then value end) as loaded_p95_ms,
        max(case when phase = 'loaded' and delay_rank = {{ quantile_rank(990, 'answered') }} then value end) as loaded_p99_ms,
        max(case when phase = 'loaded' then value end) as loaded_max_ms
    from ranked
    group by study_id, run_id, role, delay_basis
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.role,
        summarised.delay_basis,
        over_series.series,
        summarised.idle_samples,
        case when over_series.is_of_one_distance then summarised.idle_median_ms end as idle_median_ms,
        case when over_series.is_of_one_distance then summarised.idle_p95_ms end as idle_p95_ms,
        summarised.loaded_samples,
        cast(summarised.loaded_unanswered_samples as bigint) as loaded_unanswered_samples,
        case when over_series.is_of_one_distance then summarised.loaded_mean_ms end as loaded_mean_ms,
        case when over_series.is_of_one_distance then summarised.loaded_median_ms end as loaded_median_ms,
        case when over_series.is_of_one_distance then summarised.loaded_p95_ms end as loaded_p95_ms,
        case when over_series.is_of_one_distance then summarised.loaded_p99_ms end as loaded_p99_ms,
        case when over_series.is_of_one_distance then summarised.loaded_max_ms end as loaded_max_ms,
        case when not over_series.is_of_one_distance then 'series of hosts at different distances: run_series has each' end
            as delay_null_reason,
        over_series.increase_series,
        over_series.median_increase_ms
    from summarised
    inner join over_series
        on
            summarised.study_id = over_series.study_id
            and summarised.run_id = over_series.run_id
            and summarised.role = over_series.role
            and summarised.delay_basis = over_series.delay_basis
)

select * from final
