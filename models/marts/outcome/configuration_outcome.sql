{%- set key = ['configuration_id', 'role', 'delay_basis'] -%}
-- Outcome scores over the runs of a configuration: medians with exact intervals, and ranks by median and by 95th percentile of the RTT.
with

measured as (
    select * from {{ ref('run_outcome') }}
),

runs as (
    select * from {{ ref('run') }}
),

configurations as (
    select * from {{ ref('configuration') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

grades as (
    select * from {{ ref('int_quality_class_range') }}
    where qoe_model_id = 'bufferbloat-grade'
),

outcomes as (
    {{ with_exclusion_reason('measured') }}
),

{{ binding_in_most_runs('outcomes', key, ['qoo_binding_quantity']) }},

counted as (
    select
        configuration_id,
        role,
        delay_basis,
        count(case when exclusion_reason is null then 1 end) as runs,
        count(exclusion_reason) as excluded_runs,
        count(case when exclusion_reason is null then added_delay_ms end) as runs_with_delay,
        count(case when exclusion_reason is null then responsiveness_rpm end) as runs_with_responsiveness,
        median(case when exclusion_reason is null then added_delay_ms end) as added_delay_median_ms,
        median(case when exclusion_reason is null then responsiveness_rpm end) as responsiveness_median_rpm,
        median(case when exclusion_reason is null then qoo_score end) as qoo_score_median,
        median(case when exclusion_reason is null then loaded_rtt_median_ms end) as loaded_median_ms,
        median(case when exclusion_reason is null then loaded_rtt_p95_ms end) as loaded_p95_ms
    from outcomes
    group by
        configuration_id,
        role,
        delay_basis
),

ordered as (
    select
        configuration_id,
        role,
        delay_basis,
        responsiveness_rpm,
        added_delay_ms,
        row_number() over (
            partition by configuration_id, role, delay_basis
            order by responsiveness_rpm
        ) as responsiveness_rank,
        row_number() over (
            partition by configuration_id, role, delay_basis
            order by added_delay_ms
        ) as delay_rank
    from outcomes
    where
        exclusion_reason is null
        and responsiveness_rpm is not null
        and added_delay_ms is not null
),

sizes as (
    select
        configuration_id,
        role,
        delay_basis,
        count(*) as values_counted
    from ordered
    group by
        configuration_id,
        role,
        delay_basis
),

-- An interval is of the same runs as its median.
bounds as (
    select
        sizes.configuration_id,
        sizes.role,
        sizes.delay_basis,
        max(case when ordered.responsiveness_rank = interval_ranks.lower_rank then ordered.responsiveness_rpm end)
            as responsiveness_lower_rpm,
        max(case when ordered.responsiveness_rank = interval_ranks.upper_rank then ordered.responsiveness_rpm end)
            as responsiveness_upper_rpm,
        max(case when ordered.delay_rank = interval_ranks.lower_rank then ordered.added_delay_ms end) as added_delay_lower_ms,
        max(case when ordered.delay_rank = interval_ranks.upper_rank then ordered.added_delay_ms end) as added_delay_upper_ms
    from sizes
    inner join interval_ranks
        on sizes.values_counted = interval_ranks.runs
    inner join counted
        on
            {{ same_columns('sizes', 'counted', key) }}
            and sizes.values_counted = counted.runs_with_delay
            and sizes.values_counted = counted.runs_with_responsiveness
    inner join ordered
        on
            sizes.configuration_id = ordered.configuration_id
            and sizes.role = ordered.role
            and sizes.delay_basis = ordered.delay_basis
    group by
        sizes.configuration_id,
        sizes.role,
        sizes.delay_basis
),

-- Configurations are compared if rate, round-trip time, application and direction are the same.
ranked as (
    select
        counted.*,
        rank() over (
            partition by
                {{ setting_beside_queue('configurations') }}, counted.role, counted.delay_basis
            order by case when counted.loaded_median_ms is null then 1 else 0 end, counted.loaded_median_ms
        ) as rank_by_median,
        rank() over (
            partition by
                {{ setting_beside_queue('configurations') }}, counted.role, counted.delay_basis
            order by case when counted.loaded_p95_ms is null then 1 else 0 end, counted.loaded_p95_ms
        ) as rank_by_p95
    from counted
    inner join configurations
        on counted.configuration_id = configurations.configuration_id
),

final as (
    select
        ranked.configuration_id,
        ranked.role,
        ranked.delay_basis,
        ranked.runs,
        ranked.excluded_runs,
        ranked.added_delay_median_ms,
        bounds.added_delay_lower_ms,
        bounds.added_delay_upper_ms,
        grades.quality_class as bufferbloat_grade,
        ranked.responsiveness_median_rpm,
        bounds.responsiveness_lower_rpm,
        bounds.responsiveness_upper_rpm,
        ranked.qoo_score_median,
        binding.qoo_binding_quantity,
        binding.binding_runs,
        {{ median_interval_columns(
            'bounds.responsiveness_lower_rpm', 'ranked.runs',
            otherwise='a run has no idle delay or several distances, or there are more than the table of ranks has'
        ) }},
        case when ranked.loaded_median_ms is not null then cast(ranked.rank_by_median as bigint) end as rank_by_median,
        case when ranked.loaded_p95_ms is not null then cast(ranked.rank_by_p95 as bigint) end as rank_by_p95,
        case
            when ranked.loaded_median_ms is not null and ranked.loaded_p95_ms is not null then ranked.rank_by_median != ranked.rank_by_p95
        end as is_rank_changed
    from ranked
    left join binding
        on {{ same_columns('ranked', 'binding', key) }}
    left join bounds
        on
            ranked.configuration_id = bounds.configuration_id
            and ranked.role = bounds.role
            and ranked.delay_basis = bounds.delay_basis
    left join grades
        on
            {{ is_in_range('ranked.added_delay_median_ms', 'grades') }}
)

select * from final
