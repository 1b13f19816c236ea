with

comparisons as (
    select * from {{ ref('int_run_mark_comparison') }}
),

final as (
    select
        comparisons.study_id,
        comparisons.run_id,
        comparisons.mark_direction,
        comparisons.sources,
        comparisons.scope,
        comparisons.first_least_packets,
        comparisons.first_most_packets,
        comparisons.second_least_packets,
        comparisons.second_most_packets,
        comparisons.difference_packets,
        comparisons.bound_packets,
        comparisons.bound_version as mark_bound_version,
        comparisons.verdict as mark_verdict,
        comparisons.gap
    from comparisons
)

select * from final
