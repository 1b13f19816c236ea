with

measured as (
    select * from {{ ref('run_quality') }}
),

runs as (
    select * from {{ ref('run') }}
),

summaries as (
    select * from {{ ref('configuration_quality') }}
),

classes as (
    select * from {{ ref('qoe_class') }}
),

items as (
    {{ with_exclusion_reason('measured') }}
),

counted as (
    select
        configuration_id,
        qoe_model_id,
        quality_class,
        count(*) as items
    from items
    where
        exclusion_reason is null
        and mos is not null
    group by
        configuration_id,
        qoe_model_id,
        quality_class
),

final as (
    select
        summaries.configuration_id,
        summaries.qoe_model_id,
        classes.class_number,
        classes.quality_class,
        classes.colour,
        summaries.runs,
        summaries.items,
        coalesce(counted.items, 0) as items_in_class,
        cast(coalesce(counted.items, 0) as double) / nullif(summaries.items, 0) as items_in_class_ratio
    from summaries
    inner join classes
        on summaries.qoe_model_id = classes.qoe_model_id
    left join counted
        on
            summaries.configuration_id = counted.configuration_id
            and summaries.qoe_model_id = counted.qoe_model_id
            and classes.quality_class = counted.quality_class
)

select * from final
