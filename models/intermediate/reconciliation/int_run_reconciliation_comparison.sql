{#- Each line: the two sources, the scope that both can see, and the gaps that prevent the comparison, in order of precedence. -#}
{%- set pairs_of_sources = [
    ('queue_log', 'capture_pair', 'declared_flows', ['queue_log_gap', 'capture_pair_gap']),
    ('queue_log', 'queue_counters', 'between_polls', ['queue_log_gap', 'queue_counters_gap']),
    ('capture_pair', 'queue_counters', 'between_polls', ['capture_pair_gap', 'queue_counters_gap', 'capture_clock_gap']),
] -%}
with

runs as (
    select * from {{ ref('int_run_described') }}
),

gaps as (
    select * from {{ ref('int_run_source_gap') }}
),

source_values as (
    select * from {{ ref('int_run_reconciliation_value') }}
),

bounds as (
    select * from {{ ref('reconciliation_bound') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

pairs as (
    {{ source_pairs(pairs_of_sources, 'gaps', ['study_id', 'run_id']) }}
),

-- A queue log and captures without any packet of a declared flow do not count as agreeing.
declared_packets as (
    select
        study_id,
        run_id,
        sum(least_value) as packets
    from source_values
    where
        scope = 'declared_flows'
        and quantity in ('packets', 'drops')
    group by study_id, run_id
),

compared as (
    select
        pairs.study_id,
        pairs.run_id,
        bounds.quantity,
        pairs.sources,
        pairs.gap,
        bounds.bound_id,
        bounds.bound_version,
        bounds.absolute_bound,
        bounds.relative_bound_ratio,
        bounds.bound_full_size_frames * thresholds.threshold_value * 8000 / runs.bandwidth_bps as frames_bound,
        coalesce(declared_packets.packets, 0) as declared_packets,
        first_values.least_value as first_least_value,
        first_values.most_value as first_most_value,
        second_values.least_value as second_least_value,
        second_values.most_value as second_most_value
    from pairs
    inner join bounds
        on pairs.sources = bounds.sources
    inner join runs
        on
            pairs.study_id = runs.study_id
            and pairs.run_id = runs.run_id
    left join source_values as first_values
        on
            pairs.study_id = first_values.study_id
            and pairs.run_id = first_values.run_id
            and bounds.quantity = first_values.quantity
            and pairs.first_source = first_values.source
            and pairs.scope = first_values.scope
    left join source_values as second_values
        on
            pairs.study_id = second_values.study_id
            and pairs.run_id = second_values.run_id
            and bounds.quantity = second_values.quantity
            and pairs.second_source = second_values.source
            and pairs.scope = second_values.scope
    left join declared_packets
        on
            pairs.study_id = declared_packets.study_id
            and pairs.run_id = declared_packets.run_id
    cross join thresholds
),

-- If a source gives a range, its value is the point in the range that is closest to the other source. At most one of the two sources gives
-- a range, so this is a single value. `least` and `greatest` ignore nulls, hence the condition.
first_valued as (
    select
        *,
        case
            when first_least_value is not null and first_most_value is not null
                then greatest(least(second_least_value, first_most_value), first_least_value)
        end as first_value
    from compared
),

both_valued as (
    select
        *,
        greatest(least(first_value, second_most_value), second_least_value) as second_value
    from first_valued
),

bounded as (
    select
        study_id,
        run_id,
        quantity,
        sources,
        first_value,
        second_value,
        bound_id,
        bound_version,
        absolute_bound + relative_bound_ratio * greatest(first_value, second_least_value) + frames_bound as bound,
        coalesce(
            gap,
            case
                when sources = 'queue_log+capture_pair' and declared_packets = 0
                    then 'neither source has a packet of a declared flow'
                when quantity = 'bytes' and first_value is null and second_least_value is not null
                    then 'the bytes of some packets are not known'
                when first_value is null or second_least_value is null
                    then 'no packet is in both sources'
            end
        ) as gap
    from both_valued
),

final as (
    select
        study_id,
        run_id,
        quantity,
        sources,
        case when gap is null then first_value end as first_value,
        case when gap is null then second_value end as second_value,
        case when gap is null then first_value - second_value end as difference,
        bound_id,
        bound_version,
        case when gap is null then bound end as bound,
        case when gap is null then abs(first_value - second_value) <= bound end as agrees,
        gap
    from bounded
)

select * from final
