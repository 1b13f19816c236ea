with

quantiles as (
    select * from {{ ref('run_queuing_delay_quantile') }}
),

runs as (
    select * from {{ ref('run') }}
    where exclusion_reason is null
),

final as (
    select
        runs.configuration_id,
        quantiles.role,
        quantiles.quantile_ratio,
        count(*) as runs,
        median(quantiles.queuing_delay_ms) as queuing_delay_median_ms
    from quantiles
    inner join runs
        on
            quantiles.study_id = runs.study_id
            and quantiles.run_id = runs.run_id
    group by runs.configuration_id, quantiles.role, quantiles.quantile_ratio
)

select * from final
