{%- set key = ['configuration_id', 'role', 'delay_basis', 'qoe_model_id'] -%}
-- AIM points over the runs of a configuration: the median with its exact interval, and the class of the median.
with

points_of_runs as (
    select * from {{ ref('run_aim') }}
),

runs as (
    select * from {{ ref('run') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
),

placed as (
    select
        runs.configuration_id,
        points_of_runs.role,
        points_of_runs.delay_basis,
        points_of_runs.qoe_model_id,
        runs.exclusion_reason,
        points_of_runs.run_id,
        points_of_runs.binding_quantity,
        case when runs.exclusion_reason is null then cast(points_of_runs.aim_points as double) end as aim_points
    from points_of_runs
    inner join runs
        on
            points_of_runs.study_id = runs.study_id
            and points_of_runs.run_id = runs.run_id
),

{{ binding_in_most_runs('placed', key, ['binding_quantity']) }},

ordered as (
    select
        *,
        row_number() over (
            partition by configuration_id, role, delay_basis, qoe_model_id
            order by case when aim_points is null then 1 else 0 end, aim_points, run_id
        ) as place,
        count(aim_points) over (partition by configuration_id, role, delay_basis, qoe_model_id) as scored_runs
    from placed
),

summarised as (
    select
        ordered.configuration_id,
        ordered.role,
        ordered.delay_basis,
        ordered.qoe_model_id,
        count(ordered.aim_points) as runs,
        count(ordered.exclusion_reason) as excluded_runs,
        count(case when ordered.exclusion_reason is null and ordered.aim_points is null then 1 end) as unscored_runs,
        median(ordered.aim_points) as aim_points_median,
        max(case when ordered.place = interval_ranks.lower_rank then ordered.aim_points end) as aim_points_lower,
        max(case when ordered.place = interval_ranks.upper_rank then ordered.aim_points end) as aim_points_upper
    from ordered
    left join interval_ranks
        on ordered.scored_runs = interval_ranks.runs
    group by
        ordered.configuration_id,
        ordered.role,
        ordered.delay_basis,
        ordered.qoe_model_id
),

final as (
    select
        summarised.configuration_id,
        summarised.role,
        summarised.delay_basis,
        summarised.qoe_model_id,
        summarised.runs,
        summarised.excluded_runs,
        summarised.unscored_runs,
        summarised.aim_points_median,
        summarised.aim_points_lower,
        summarised.aim_points_upper,
        class_ranges.quality_class,
        binding.binding_quantity,
        binding.binding_runs,
        {{ median_interval_columns('summarised.aim_points_lower', 'summarised.runs') }}
    from summarised
    left join binding
        on {{ same_columns('summarised', 'binding', key) }}
    left join class_ranges
        on
            summarised.qoe_model_id = class_ranges.qoe_model_id
            and {{ is_in_range('summarised.aim_points_median', 'class_ranges') }}
)

select * from final
