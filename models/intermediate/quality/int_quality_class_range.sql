-- Classes with both bounds. The upper bound is the next higher lower bound, whether higher or lower scores are better.
with

classes as (
    select * from {{ ref('qoe_class') }}
),

final as (
    select
        qoe_model_id,
        class_number,
        quality_class,
        bound_of,
        lower_bound,
        lag(lower_bound) over (
            partition by qoe_model_id
            order by case when lower_bound is null then 0 else 1 end desc, lower_bound desc
        ) as upper_bound,
        mos,
        colour,
        provenance
    from classes
)

select * from final
