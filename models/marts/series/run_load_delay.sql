with

runs as (
    select * from {{ ref('int_run_described') }}
),

delays as (
    select * from {{ ref('int_run_load_sample') }}
),

ranked as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        phase,
        value,
        row_number() over (
            partition by study_id, run_id, role, delay_basis, phase
            order by case when value is null then 1 else 0 end, value
        ) as delay_rank,
        count(value) over (
            partition by study_id, run_id, role, delay_basis, phase
        ) as answered
    from delays
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
        {{ run_dimensions('runs') }},
        summarised.idle_samples,
        summarised.idle_median_ms,
        summarised.idle_p95_ms,
        summarised.loaded_samples,
        cast(summarised.loaded_unanswered_samples as bigint) as loaded_unanswered_samples,
        summarised.loaded_mean_ms,
        summarised.loaded_median_ms,
        summarised.loaded_p95_ms,
        summarised.loaded_p99_ms,
        summarised.loaded_max_ms,
        summarised.loaded_median_ms - summarised.idle_median_ms as median_increase_ms
    from summarised
    inner join runs
        on
            summarised.study_id = runs.study_id
            and summarised.run_id = runs.run_id
)

select * from final
