-- Requirements of the Internet Quality Barometer, and whether a percentile of the tests meets each of them, by strict comparison.
with

percentiles as (
    select * from {{ ref('stg_lake__network_percentile') }}
),

requirements as (
    select * from {{ ref('int_iqb_share') }}
),

points as (
    select distinct
        source_hash,
        percentile
    from percentiles
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
        requirements.share
    from points
    cross join requirements
    left join percentiles
        on
            points.source_hash = percentiles.source_hash
            and points.percentile = percentiles.percentile
            and requirements.requirement = percentiles.network_metric
)

select * from final
