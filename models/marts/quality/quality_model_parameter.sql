with

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
),

final as (
    select
        qoe_model_id,
        parameter,
        parameter_value,
        parameter_unit,
        provenance
    from parameters
)

select * from final
