{#- Each line: the two sources, the scope that both can see, and the gaps that prevent the comparison, in order of precedence. -#}
{%- set pairs_of_sources = [
    ('queue_log', 'queue_counters', 'between_polls', ['queue_log_gap', 'queue_counters_gap']),
    ('queue_log', 'wire', 'declared_flows', ['queue_log_gap', 'wire_gap']),
    ('queue_log', 'echo', 'declared_tcp', ['queue_log_gap', 'echo_gap']),
    ('queue_counters', 'wire', 'between_polls', ['queue_counters_gap', 'wire_gap', 'wire_clock_gap']),
    ('queue_counters', 'echo', 'all_flows', ['queue_counters_gap', 'echo_gap', 'counters_echo_gap']),
    ('wire', 'echo', 'declared_tcp', ['wire_gap', 'echo_gap']),
] -%}
with

directions as (
    select * from {{ ref('int_run_mark_direction') }}
),

source_values as (
    select * from {{ ref('int_run_mark_value') }}
),

bounds as (
    select * from {{ ref('mark_bound') }}
),

pairs as (
    {{ source_pairs(pairs_of_sources, 'directions', ['study_id', 'run_id', 'mark_direction']) }}
),

valued as (
    select
        pairs.study_id,
        pairs.run_id,
        pairs.mark_direction,
        pairs.sources,
        pairs.scope,
        pairs.gap,
        first_values.least_packets as first_least_packets,
        first_values.most_packets as first_most_packets,
        second_values.least_packets as second_least_packets,
        second_values.most_packets as second_most_packets,
        bounds.bound_id,
        bounds.bound_version,
        bounds.absolute_bound_packets
        + bounds.relative_bound_ratio * greatest(first_values.least_packets, second_values.least_packets) as bound_packets
    from pairs
    inner join bounds
        on pairs.sources = bounds.sources
    left join source_values as first_values
        on
            pairs.study_id = first_values.study_id
            and pairs.run_id = first_values.run_id
            and pairs.mark_direction = first_values.mark_direction
            and pairs.first_source = first_values.source
            and pairs.scope = first_values.scope
    left join source_values as second_values
        on
            pairs.study_id = second_values.study_id
            and pairs.run_id = second_values.run_id
            and pairs.mark_direction = second_values.mark_direction
            and pairs.second_source = second_values.source
            and pairs.scope = second_values.scope
),

-- The difference of overlapping ranges is 0. A null maximum means no upper bound: comparing with it selects no branch.
differing as (
    select
        *,
        case
            when first_least_packets is null or second_least_packets is null then null
            when first_least_packets > second_most_packets then first_least_packets - second_most_packets
            when second_least_packets > first_most_packets then first_most_packets - second_least_packets
            else 0
        end as difference_packets
    from valued
),

final as (
    select
        study_id,
        run_id,
        mark_direction,
        sources,
        scope,
        case when gap is null then first_least_packets end as first_least_packets,
        case when gap is null then first_most_packets end as first_most_packets,
        case when gap is null then second_least_packets end as second_least_packets,
        case when gap is null then second_most_packets end as second_most_packets,
        case when gap is null then difference_packets end as difference_packets,
        bound_id,
        bound_version,
        case when gap is null then bound_packets end as bound_packets,
        case
            when gap is not null or difference_packets is null then 'not_comparable'
            when abs(difference_packets) <= bound_packets then 'agree'
            else 'disagree'
        end as verdict,
        coalesce(gap, case when difference_packets is null then 'a source has no value' end) as gap
    from differing
)

select * from final
