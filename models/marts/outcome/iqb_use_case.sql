with

requirements as (
    select * from {{ ref('int_iqb_requirement') }}
),

final as (
    select
        source_hash,
        percentile,
        use_case,
        max(qoe_model_id) as qoe_model_id,
        count(*) as requirements,
        count(case when is_met then 1 end) as requirements_met,
        count(case when is_met is null then 1 end) as requirements_unknown,
        case
            when count(is_met) = count(*)
                then sum(case when is_met then requirement_weight else 0 end) / sum(requirement_weight)
        end as use_case_score
    from requirements
    group by
        source_hash,
        percentile,
        use_case
)

select * from final
