with

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

flows as (
    select * from {{ ref('int_capture_flow') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

-- A UTC second contains whole intervals, because intervals start at multiples of their length. Intervals are summed per flow before flows
-- are counted, which is much faster than counting distinct flows.
flow_seconds as (
    select
        source_hash,
        flow_id,
        {{ integer_divide('interval_start_ns', 1000000000) }} as utc_second,
        sum(packets) as packets,
        sum(bytes) as bytes,
        sum(case direction when 'fwd' then bytes else 0 end) as fwd_bytes
    from flow_intervals
    group by source_hash, flow_id, {{ integer_divide('interval_start_ns', 1000000000) }}
),

counted as (
    select
        flows.dataset,
        flows.source_hash,
        flows.recording_name,
        flows.protocol,
        flows.service,
        flow_seconds.utc_second,
        sum(flow_seconds.packets) as packets,
        sum(flow_seconds.bytes) as bytes,
        sum(flow_seconds.fwd_bytes) as fwd_bytes,
        count(*) as active_flows
    from flow_seconds
    inner join flows
        on
            flow_seconds.source_hash = flows.source_hash
            and flow_seconds.flow_id = flows.flow_id
    group by
        flows.dataset,
        flows.source_hash,
        flows.recording_name,
        flows.protocol,
        flows.service,
        flow_seconds.utc_second
),

final as (
    select
        counted.dataset,
        counted.source_hash,
        counted.protocol,
        counted.service,
        counted.utc_second - totals.first_second as second,
        counted.recording_name,
        cast(counted.packets as bigint) as packets,
        cast(counted.bytes as bigint) as bytes,
        cast(8 * counted.bytes as double) as rate_bps,
        cast(8 * counted.fwd_bytes as double) as fwd_rate_bps,
        cast(8 * (counted.bytes - counted.fwd_bytes) as double) as rev_rate_bps,
        counted.active_flows as sending_flows
    from counted
    inner join totals on counted.source_hash = totals.source_hash
)

select * from final
