with

series_values as (
    select * from {{ ref('int_run_series_value') }}
),

ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, measurement, series_number, phase
            order by case when value is null then 1 else 0 end, value
        ) as value_rank,
        count(value) over (partition by study_id, run_id, measurement, series_number, phase) as answered
    from series_values
),

summarised as (
    select
        study_id,
        run_id,
        measurement,
        series_number,
        phase,
        {{ series_summary() }},
        min(time_s) as first_s,
        max(time_s) as last_s,
        {{ series_mean() }} as value_mean,
        min(value) as value_min,
        max(case when value_rank = {{ quantile_rank(500, 'answered') }} then value end) as value_median,
        max(case when value_rank = {{ quantile_rank(950, 'answered') }} then value end) as value_p95,
        max(case when value_rank = {{ quantile_rank(990, 'answered') }} then value end) as value_p99,
        max(value) as value_max
    from ranked
    group by study_id, run_id, measurement, series_number, phase
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.measurement,
        summarised.series_number,
        summarised.phase,
        {{ series_columns('summarised') }},
        summarised.first_s,
        summarised.last_s,
        summarised.value_mean,
        summarised.value_min,
        summarised.value_median,
        summarised.value_p95,
        summarised.value_p99,
        summarised.value_max
    from summarised
)

select * from final
