with

measured as (
    select * from {{ ref('run_quality') }}
),

runs as (
    select * from {{ ref('run') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

items as (
    {{ with_exclusion_reason('measured') }}
),

-- A run without a score is not one of the runs in the median; it counts in unscored_runs.
counted_items as (
    select
        configuration_id,
        qoe_model_id,
        study_id,
        run_id,
        exclusion_reason is null and mos is not null as is_counted,
        exclusion_reason,
        score,
        mos,
        queuing_delay_mean_ms,
        harm_ratio,
        flow_rate_equality
    from items
),

run_values as (
    select
        configuration_id,
        qoe_model_id,
        study_id,
        run_id,
        max(exclusion_reason) as exclusion_reason,
        count(case when is_counted then 1 end) as items,
        median(case when is_counted then mos end) as mos,
        max(queuing_delay_mean_ms) as queuing_delay_mean_ms,
        max(harm_ratio) as harm_ratio,
        max(flow_rate_equality) as flow_rate_equality
    from counted_items
    group by
        configuration_id,
        qoe_model_id,
        study_id,
        run_id
),

of_runs as (
    select
        configuration_id,
        qoe_model_id,
        count(case when items > 0 then 1 end) as runs,
        count(exclusion_reason) as excluded_runs,
        count(case when exclusion_reason is null and items = 0 then 1 end) as unscored_runs,
        median(case when items > 0 then mos end) as run_mos_median,
        median(case when items > 0 then queuing_delay_mean_ms end) as queuing_delay_median_ms,
        median(case when items > 0 then harm_ratio end) as harm_median_ratio,
        median(case when items > 0 then flow_rate_equality end) as flow_rate_equality_median
    from run_values
    group by
        configuration_id,
        qoe_model_id
),

of_items as (
    select
        configuration_id,
        qoe_model_id,
        count(case when is_counted then 1 end) as items,
        median(case when is_counted then score end) as score_median,
        median(case when is_counted then mos end) as mos_median,
        min(case when is_counted then mos end) as mos_min,
        max(case when is_counted then mos end) as mos_max
    from counted_items
    group by
        configuration_id,
        qoe_model_id
),

ordered_runs as (
    select
        configuration_id,
        qoe_model_id,
        mos,
        row_number() over (
            partition by configuration_id, qoe_model_id
            order by mos
        ) as mos_rank
    from run_values
    where items > 0
),

chosen_ranks as (
    select
        of_runs.configuration_id,
        of_runs.qoe_model_id,
        interval_ranks.level_ratio,
        {{ lower_rank_of_runs('of_runs.runs') }} as lower_rank
    from of_runs
    left join interval_ranks
        on of_runs.runs = interval_ranks.runs
),

bounds as (
    select
        chosen_ranks.configuration_id,
        chosen_ranks.qoe_model_id,
        max(case when ordered_runs.mos_rank = chosen_ranks.lower_rank then ordered_runs.mos end) as run_mos_lower,
        max(case when ordered_runs.mos_rank = of_runs.runs + 1 - chosen_ranks.lower_rank then ordered_runs.mos end) as run_mos_upper
    from chosen_ranks
    inner join of_runs
        on
            chosen_ranks.configuration_id = of_runs.configuration_id
            and chosen_ranks.qoe_model_id = of_runs.qoe_model_id
    inner join ordered_runs
        on
            chosen_ranks.configuration_id = ordered_runs.configuration_id
            and chosen_ranks.qoe_model_id = ordered_runs.qoe_model_id
    group by
        chosen_ranks.configuration_id,
        chosen_ranks.qoe_model_id
),

final as (
    select
        of_runs.configuration_id,
        of_runs.qoe_model_id,
        of_runs.runs,
        of_runs.excluded_runs,
        of_runs.unscored_runs,
        of_items.items,
        of_items.score_median,
        of_items.mos_median,
        class_ranges.quality_class,
        of_items.mos_min,
        of_items.mos_max,
        of_runs.run_mos_median,
        bounds.run_mos_lower,
        bounds.run_mos_upper,
        {{ median_interval_columns('bounds.run_mos_lower', 'of_runs.runs') }},
        of_runs.queuing_delay_median_ms,
        of_runs.harm_median_ratio,
        of_runs.flow_rate_equality_median
    from of_runs
    inner join of_items
        on
            of_runs.configuration_id = of_items.configuration_id
            and of_runs.qoe_model_id = of_items.qoe_model_id
    left join bounds
        on
            of_runs.configuration_id = bounds.configuration_id
            and of_runs.qoe_model_id = bounds.qoe_model_id
    left join class_ranges
        on
            of_runs.qoe_model_id = class_ranges.qoe_model_id
            and case
                when class_ranges.bound_of = 'mos' then of_items.mos_median
                else of_items.score_median
            end >= coalesce(class_ranges.lower_bound, -1)
            and (
                class_ranges.upper_bound is null
                or case
                    when class_ranges.bound_of = 'mos' then of_items.mos_median
                    else of_items.score_median
                end < class_ranges.upper_bound
            )
)

select * from final
