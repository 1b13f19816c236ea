with

spin_directions as (
    select * from {{ ref('stg_lake__flow_spin') }}
),

edges as (
    select * from {{ ref('stg_lake__flow_spin_edge') }}
),

flows as (
    select * from {{ ref('int_capture_flow') }}
),

thresholds as (
    select * from {{ ref('threshold') }}
    where threshold_id = 'spin-reordered-edge'
),

medians as (
    select
        source_hash,
        flow_id,
        direction,
        median(since_edge_ns) as median_ns
    from edges
    where since_edge_ns is not null
    group by source_hash, flow_id, direction
),

-- A reordered datagram shows the previous spin value: two edges much closer together than an RTT.
ordered as (
    select
        edges.source_hash,
        edges.flow_id,
        edges.direction,
        edges.since_edge_ns,
        edges.since_other_edge_ns,
        edges.longest_silence_ns,
        edges.since_edge_ns < medians.median_ns * thresholds.threshold_value as is_reordered,
        coalesce(edges.since_other_edge_ns < edges.since_edge_ns, false) as is_answered
    from edges
    inner join medians
        on
            edges.source_hash = medians.source_hash
            and edges.flow_id = medians.flow_id
            and edges.direction = medians.direction
    cross join thresholds
    where edges.since_edge_ns is not null
),

-- While data are in flight, no point of the path goes without a datagram for longer than an RTT: a longer silence was a pause.
compared as (
    select
        *,
        min(case when not is_reordered then since_edge_ns end) over (partition by source_hash, flow_id, direction) as least_ns
    from ordered
),

judged as (
    select
        *,
        not is_reordered and longest_silence_ns > least_ns as is_paused
    from compared
),

summed as (
    select
        source_hash,
        flow_id,
        direction,
        count(*) as spin_samples,
        count(case when is_reordered then 1 end) as reordered_samples,
        count(case when is_paused then 1 end) as paused_samples,
        count(case when not is_reordered and not is_paused then 1 end) as valid_samples,
        count(case when is_answered then 1 end) as answered_samples,
        cast(min(case when not is_reordered and not is_paused then since_edge_ns end) as double) / 1000000 as spin_rtt_min_ms,
        cast(median(case when not is_reordered and not is_paused then since_edge_ns end) as double) / 1000000 as spin_rtt_median_ms,
        cast(max(case when not is_reordered and not is_paused then since_edge_ns end) as double) / 1000000 as spin_rtt_max_ms,
        cast(median(case when not is_reordered and not is_paused and is_answered then since_other_edge_ns end) as double) / 1000000
            as spin_leg_rtt_median_ms
    from judged
    group by source_hash, flow_id, direction
),

seen as (
    select
        source_hash,
        flow_id,
        min(short_header_packets) > 0 as both_ways_seen
    from spin_directions
    group by source_hash, flow_id
),

final as (
    select
        flows.dataset,
        spin_directions.source_hash,
        spin_directions.flow_id,
        spin_directions.direction,
        flows.recording_name,
        flows.protocol,
        flows.service,
        {{ utc_date('flows.first_packet_ns') }} as start_date,
        spin_directions.short_header_packets,
        spin_directions.edges,
        coalesce(summed.spin_samples, 0) as spin_samples,
        coalesce(summed.reordered_samples, 0) as reordered_samples,
        coalesce(summed.paused_samples, 0) as paused_samples,
        coalesce(summed.valid_samples, 0) as valid_samples,
        summed.spin_rtt_min_ms,
        summed.spin_rtt_median_ms,
        summed.spin_rtt_max_ms,
        summed.spin_leg_rtt_median_ms,
        case
            when spin_directions.short_header_packets = 0 then 'not_seen'
            when spin_directions.edges = 0 then 'not_spinning'
            when seen.both_ways_seen and summed.answered_samples * 4 < summed.spin_samples * 3 then 'not_answered'
            when coalesce(summed.valid_samples, 0) = 0 and summed.paused_samples > 0 then 'sender_paused'
            when coalesce(summed.valid_samples, 0) < 3 then 'too_few_samples'
            else 'valid'
        end as spin_verdict
    from spin_directions
    inner join flows
        on
            spin_directions.source_hash = flows.source_hash
            and spin_directions.flow_id = flows.flow_id
    inner join seen
        on
            spin_directions.source_hash = seen.source_hash
            and spin_directions.flow_id = seen.flow_id
    left join summed
        on
            spin_directions.source_hash = summed.source_hash
            and spin_directions.flow_id = summed.flow_id
            and spin_directions.direction = summed.direction
)

select * from final
