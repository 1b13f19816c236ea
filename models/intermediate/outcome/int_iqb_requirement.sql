-- Each requirement of the Internet Quality Barometer, and whether one percentile of the tests meets it, by strict comparison.
with

percentiles as (
    select * from {{ ref('stg_lake__network_percentile') }}
),

requirements as (
    select * from {{ ref('quality_requirement') }}
    where qoe_model_id = 'iqb'
),

points as (
    select distinct
        source_hash,
        percentile
    from percentiles
),

use_case_weights as (
    select
        use_case,
        max(use_case_weight) as use_case_weight,
        sum(requirement_weight) as weight_sum
    from requirements
    group by use_case
),

total_weight as (
    select sum(use_case_weight) as weight_sum
    from use_case_weights
),

final as (
    select
        points.source_hash,
        points.percentile,
        requirements.qoe_model_id,
        requirements.use_case,
        requirements.requirement,
        percentiles.metric_value,
        percentiles.tests,
        requirements.use_case_weight,
        requirements.requirement_weight,
        requirements.threshold,
        case
            when requirements.better = 'higher' then percentiles.metric_value > requirements.threshold
            else percentiles.metric_value < requirements.threshold
        end as is_met,
        -- What the requirement takes from the score where it is not met.
        requirements.use_case_weight / total_weight.weight_sum * requirements.requirement_weight / use_case_weights.weight_sum as share
    from points
    cross join requirements
    cross join total_weight
    inner join use_case_weights
        on requirements.use_case = use_case_weights.use_case
    left join percentiles
        on
            points.source_hash = percentiles.source_hash
            and points.percentile = percentiles.percentile
            and requirements.requirement = percentiles.network_metric
)

select * from final
