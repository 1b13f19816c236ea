-- One MOS per run and model, for comparisons of configurations: the median over the run's items.
with

items as (
    select * from {{ ref('run_quality') }}
    where mos is not null
),

medians as (
    select
        study_id,
        run_id,
        qoe_model_id,
        count(*) as items,
        median(mos) as mos
    from items
    group by study_id, run_id, qoe_model_id
),

final as (
    select
        medians.study_id,
        medians.run_id,
        medians.qoe_model_id,
        medians.items,
        medians.mos
    from medians
)

select * from final
