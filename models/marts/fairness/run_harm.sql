with

harms as (
    select * from {{ ref('int_run_throughput_harm') }}
),

final as (
    select
        harms.study_id,
        harms.run_id,
        harms.role,
        'throughput' as harm_metric,
        harms.demand_id,
        harms.demand_bps,
        harms.demand_q1_bps,
        harms.demand_q3_bps,
        harms.demand_runs,
        harms.performance_bps,
        harms.harm_ratio,
        harms.harm_null_reason
    from harms
)

select * from final
