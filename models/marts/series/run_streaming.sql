with

runs as (
    select * from {{ ref('int_run_described') }}
),

series_files as (
    select * from {{ ref('int_run_series_file') }}
    where measurement = 'streaming'
),

series_values as (
    select * from {{ ref('stg_lake__series') }}
),

timed as (
    select
        series_files.study_id,
        series_files.run_id,
        series_values.metric,
        series_values.sample_number,
        series_values.value,
        series_values.duration_s,
        lag(series_values.value) over (
            partition by series_files.study_id, series_files.run_id, series_values.metric
            order by series_values.sample_number
        ) as value_before,
        -- A run that consists only of a player's log has no window, so all of it counts.
        coalesce(
            series_values.time_ns >= runs.window_start_ns
            and series_values.time_ns < runs.window_end_ns,
            true
        ) as is_in_window
    from series_values
    inner join series_files
        on series_values.source_hash = series_files.source_hash
    inner join runs
        on
            series_files.study_id = runs.study_id
            and series_files.run_id = runs.run_id
),

in_window as (
    select
        study_id,
        run_id,
        case when metric = 'media_rate_bps' then value end as media_rate_bps,
        case when metric = 'media_rate_bps' and value != value_before then 1 else 0 end as rate_switches,
        case when metric = 'media_buffer_ms' then value end as buffer_ms,
        case when metric = 'stalls' then cast(value as bigint) else 0 end as stalls,
        case when metric = 'stalled_ms' then value end as stalled_ms,
        case when metric = 'stalled_ms' then duration_s end as observed_s
    from timed
    where
        is_in_window
        and metric != 'startup_ms'
),

startups as (
    select
        study_id,
        run_id,
        max(value) as startup_ms
    from timed
    where metric = 'startup_ms'
    group by study_id, run_id
),

summarised as (
    select
        study_id,
        run_id,
        count(media_rate_bps) as segments,
        {{ ordered_mean('media_rate_bps') }} as media_rate_mean_bps,
        cast(sum(rate_switches) as bigint) as rate_switches,
        {{ ordered_mean('buffer_ms') }} as buffer_mean_ms,
        cast(sum(stalls) as bigint) as stalls,
        {{ ordered_sum('stalled_ms') }} as stalled_ms,
        {{ ordered_sum('observed_s') }} * 1000 as intervals_ms
    from in_window
    group by study_id, run_id
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.segments,
        summarised.media_rate_mean_bps,
        summarised.rate_switches,
        summarised.buffer_mean_ms,
        summarised.stalls,
        summarised.stalled_ms,
        summarised.intervals_ms,
        least(summarised.stalled_ms / nullif(summarised.intervals_ms, 0), 1) as stalled_ratio,
        startups.startup_ms
    from summarised
    left join startups
        on
            summarised.study_id = startups.study_id
            and summarised.run_id = startups.run_id
)

select * from final
