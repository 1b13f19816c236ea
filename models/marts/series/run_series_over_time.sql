-- Values of each series by second, for charts over time. An interval counts in the second of its midpoint.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

series_values as (
    select * from {{ ref('int_run_series_value') }}
    where
        sample_basis != 'total'
        and time_s is not null
),

-- Tests of one run start one after another. In a run without a window, seconds count from the first test.
starts as (
    select
        study_id,
        run_id,
        min(time_ns - cast(round(time_s * 1000000000) as bigint)) as first_start_ns
    from series_values
    where time_ns is not null
    group by study_id, run_id
),

placed as (
    select
        series_values.study_id,
        series_values.run_id,
        series_values.measurement,
        series_values.series_number,
        series_values.series_name,
        series_values.flow_name,
        series_values.role,
        series_values.flow_direction,
        series_values.series_metric,
        series_values.unit,
        series_values.sample_basis,
        series_values.value,
        -- A tool that reports no UTC time has only its own clock.
        cast(floor(
            coalesce(
                cast(
                    series_values.time_ns - coalesce(runs.window_start_ns, starts.first_start_ns) as double
                ) / 1000000000,
                series_values.time_s
            ) - coalesce(series_values.duration_s, 0) / 2
        ) as bigint) as second
    from series_values
    inner join runs
        on
            series_values.study_id = runs.study_id
            and series_values.run_id = runs.run_id
    left join starts
        on
            series_values.study_id = starts.study_id
            and series_values.run_id = starts.run_id
),

summarised as (
    select
        study_id,
        run_id,
        measurement,
        series_number,
        second,
        {{ series_summary() }},
        {{ series_mean() }} as value_mean,
        min(value) as value_min,
        max(value) as value_max
    from placed
    group by study_id, run_id, measurement, series_number, second
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.measurement,
        summarised.series_number,
        summarised.second,
        {{ series_columns('summarised') }},
        summarised.value_mean,
        summarised.value_min,
        summarised.value_max
    from summarised
)

select * from final
