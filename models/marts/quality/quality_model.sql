with

models as (
    select * from {{ ref('qoe_model') }}
),

final as (
    select
        qoe_model_id,
        qoe_model_version,
        label,
        source,
        inputs,
        score_name,
        score_unit,
        better,
        validity
    from models
)

select * from final
