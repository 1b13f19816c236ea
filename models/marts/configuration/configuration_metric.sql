with

measured as (
    select * from {{ ref('run_metric') }}
),

runs as (
    select * from {{ ref('run') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

metrics as (
    {{ with_exclusion_reason('measured') }}
),

quartiles as (
    select
        configuration_id,
        metric,
        role,
        basis,
        count(case when exclusion_reason is null then 1 end) as runs,
        count(exclusion_reason) as excluded_runs,
        {{ percentile('case when exclusion_reason is null then metric_value end', 25) }} as value_q1,
        {{ percentile('case when exclusion_reason is null then metric_value end', 50) }} as value_median,
        {{ percentile('case when exclusion_reason is null then metric_value end', 75) }} as value_q3,
        min(case when exclusion_reason is null then metric_value end) as value_min,
        max(case when exclusion_reason is null then metric_value end) as value_max
    from metrics
    group by
        configuration_id,
        metric,
        role,
        basis
),

whiskers as (
    select
        quartiles.configuration_id,
        quartiles.metric,
        quartiles.role,
        quartiles.basis,
        min(metrics.metric_value) as whisker_low,
        max(metrics.metric_value) as whisker_high,
        count(*) as runs_within_whiskers
    from quartiles
    inner join metrics
        on
            quartiles.configuration_id = metrics.configuration_id
            and quartiles.metric = metrics.metric
            and quartiles.role = metrics.role
            and quartiles.basis = metrics.basis
    where
        metrics.exclusion_reason is null
        and metrics.metric_value >= quartiles.value_q1 - 1.5 * (quartiles.value_q3 - quartiles.value_q1)
        and metrics.metric_value <= quartiles.value_q3 + 1.5 * (quartiles.value_q3 - quartiles.value_q1)
    group by
        quartiles.configuration_id,
        quartiles.metric,
        quartiles.role,
        quartiles.basis
),

ordered_runs as (
    select
        configuration_id,
        metric,
        role,
        basis,
        metric_value,
        row_number() over (
            partition by configuration_id, metric, role, basis
            order by metric_value
        ) as value_rank
    from metrics
    where exclusion_reason is null
),

chosen_ranks as (
    select
        quartiles.configuration_id,
        quartiles.metric,
        quartiles.role,
        quartiles.basis,
        quartiles.runs,
        {{ lower_rank_of_runs('quartiles.runs') }} as lower_rank
    from quartiles
    left join interval_ranks
        on quartiles.runs = interval_ranks.runs
),

bounds as (
    select
        chosen_ranks.configuration_id,
        chosen_ranks.metric,
        chosen_ranks.role,
        chosen_ranks.basis,
        max(case when ordered_runs.value_rank = chosen_ranks.lower_rank then ordered_runs.metric_value end) as value_lower,
        max(
            case when ordered_runs.value_rank = chosen_ranks.runs + 1 - chosen_ranks.lower_rank then ordered_runs.metric_value end
        ) as value_upper
    from chosen_ranks
    inner join ordered_runs
        on
            chosen_ranks.configuration_id = ordered_runs.configuration_id
            and chosen_ranks.metric = ordered_runs.metric
            and chosen_ranks.role = ordered_runs.role
            and chosen_ranks.basis = ordered_runs.basis
    group by
        chosen_ranks.configuration_id,
        chosen_ranks.metric,
        chosen_ranks.role,
        chosen_ranks.basis
),

final as (
    select
        quartiles.configuration_id,
        quartiles.metric,
        quartiles.role,
        quartiles.basis,
        quartiles.runs,
        quartiles.excluded_runs,
        quartiles.value_median,
        bounds.value_lower,
        bounds.value_upper,
        {{ median_interval_columns('bounds.value_lower', 'quartiles.runs', without='every run is excluded') }},
        -- A single run has no spread, so it has no box.
        case when quartiles.runs > 1 then quartiles.value_q1 end as value_q1,
        case when quartiles.runs > 1 then quartiles.value_q3 end as value_q3,
        case when quartiles.runs > 1 then whiskers.whisker_low end as whisker_low,
        case when quartiles.runs > 1 then whiskers.whisker_high end as whisker_high,
        quartiles.value_min,
        quartiles.value_max,
        coalesce(quartiles.runs - whiskers.runs_within_whiskers, 0) as outlier_runs
    from quartiles
    left join whiskers
        on
            quartiles.configuration_id = whiskers.configuration_id
            and quartiles.metric = whiskers.metric
            and quartiles.role = whiskers.role
            and quartiles.basis = whiskers.basis
    left join bounds
        on
            quartiles.configuration_id = bounds.configuration_id
            and quartiles.metric = bounds.metric
            and quartiles.role = bounds.role
            and quartiles.basis = bounds.basis
)

select * from final
