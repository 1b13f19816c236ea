with

classes as (
    select * from {{ ref('int_quality_class_range') }}
),

final as (
    select
        qoe_model_id,
        class_number,
        quality_class,
        bound_of,
        lower_bound,
        upper_bound,
        mos,
        colour,
        provenance
    from classes
)

select * from final
