-- Share of the Internet Quality Barometer's score that is lost if a requirement is not met.
with

requirements as (
    select * from {{ ref('quality_requirement') }}
    where qoe_model_id = 'iqb'
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
        requirements.qoe_model_id,
        requirements.use_case,
        requirements.requirement,
        requirements.better,
        requirements.threshold,
        requirements.use_case_weight,
        requirements.requirement_weight,
        requirements.use_case_weight / total_weight.weight_sum * requirements.requirement_weight / use_case_weights.weight_sum as share
    from requirements
    cross join total_weight
    inner join use_case_weights
        on requirements.use_case = use_case_weights.use_case
)

select * from final
