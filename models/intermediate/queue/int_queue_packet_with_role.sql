{%- set five_tuple = [
    'timed.protocol', 'timed.source_host_key', 'timed.source_port', 'timed.destination_host_key', 'timed.destination_port'
] -%}
with

packets as (
    select * from {{ ref('stg_lake__queue_packet') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

bottlenecks as (
    select * from {{ ref('int_run_queue') }}
    where is_bottleneck
),

timed as (
    select
        bottlenecks.study_id,
        bottlenecks.run_id,
        packets.packet_index,
        packets.fate,
        packets.drop_kind,
        packets.packet_bytes,
        packets.ecn_ce and not packets.ecn_ce_at_enqueue as is_marked_here,
        packets.ecn_ce as is_marked_at_end,
        packets.ecn_codepoint_at_enqueue,
        packets.protocol,
        packets.source_host_key,
        packets.source_port,
        packets.destination_host_key,
        packets.destination_port,
        packets.sojourn_ns,
        runs.window_start_ns,
        runs.window_end_ns,
        -- Without an offset, the UTC time is unknown, so the packet is not in any window.
        case when packets.clock = 'monotonic' then runs.monotonic_offset_ns else 0 end as utc_offset_ns,
        packets.enqueue_ns,
        coalesce(packets.dequeue_ns, packets.drop_ns) as departure_ns
    from packets
    inner join bottlenecks
        on
            packets.source_hash = bottlenecks.source_hash
            and packets.queue_number = bottlenecks.queue_number
    inner join runs
        on
            bottlenecks.study_id = runs.study_id
            and bottlenecks.run_id = runs.run_id
),

final as (
    select
        timed.study_id,
        timed.run_id,
        timed.packet_index,
        coalesce(oriented_flows.role, 'other') as role,
        oriented_flows.flow_number,
        timed.fate,
        timed.drop_kind,
        timed.packet_bytes,
        timed.is_marked_here,
        timed.is_marked_at_end,
        timed.ecn_codepoint_at_enqueue,
        timed.protocol,
        timed.source_port,
        timed.destination_port,
        -- Engines hash nulls to a number, so all packets that are not IP would be one flow.
        case
            when timed.protocol is not null
                then {{ key_hash(five_tuple | join(', ')) }}
        end as flow_hash,
        timed.enqueue_ns is not null as is_enqueue_seen,
        timed.enqueue_ns + timed.utc_offset_ns as enqueue_utc_ns,
        timed.departure_ns + timed.utc_offset_ns as departure_utc_ns,
        timed.sojourn_ns,
        coalesce(
            timed.departure_ns + timed.utc_offset_ns >= timed.window_start_ns
            and timed.departure_ns + timed.utc_offset_ns < timed.window_end_ns,
            false
        ) as departs_in_window
    from timed
    left join oriented_flows
        on
            timed.study_id = oriented_flows.study_id
            and timed.run_id = oriented_flows.run_id
            and timed.protocol = oriented_flows.protocol
            and timed.source_host_key = oriented_flows.sender_host_key
            and timed.source_port = oriented_flows.sender_port
            and timed.destination_host_key = oriented_flows.receiver_host_key
            and timed.destination_port = oriented_flows.receiver_port
)

select * from final
