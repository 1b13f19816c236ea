with

capture_pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

packet_pairs as (
    select * from {{ ref('stg_lake__packet_pair') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

-- Packets sent too late for the second capture to see may have passed or been dropped.
scoped as (
    select
        capture_pairs.study_id,
        capture_pairs.run_id,
        packet_pairs.fate,
        packet_pairs.packet_bytes,
        packet_pairs.before_ns,
        packet_pairs.after_ns,
        coalesce(oriented_flows.role in {{ declared_roles() }}, false) as is_declared,
        -- Times are in the clock of the second capture. A packet left the queue between the two capture points, and a dropped packet stayed
        -- no longer than those that passed. delay_floor_ns compares the clocks of the two captures, so it includes their offset. If packets
        -- went only one way, the offset is unknown and the clocks are assumed to be the same.
        coalesce(packet_pairs.before_ns + coalesce(capture_pairs.clock_offset_ns, 0), packet_pairs.after_ns) as earliest_ns,
        coalesce(
            packet_pairs.after_ns,
            packet_pairs.before_ns
            + coalesce(capture_pairs.delay_floor_ns, 0)
            + coalesce(capture_pairs.queuing_delay_max_us, 0) * 1000
        ) as latest_ns
    from capture_pairs
    left join packet_pairs
        on capture_pairs.source_hash = packet_pairs.source_hash
    left join oriented_flows
        on
            capture_pairs.study_id = oriented_flows.study_id
            and capture_pairs.run_id = oriented_flows.run_id
            and packet_pairs.protocol = oriented_flows.protocol
            and packet_pairs.source_host_key = oriented_flows.sender_host_key
            and packet_pairs.source_port = oriented_flows.sender_port
            and packet_pairs.destination_host_key = oriented_flows.receiver_host_key
            and packet_pairs.destination_port = oriented_flows.receiver_port
),

polled as (
    select
        scoped.*,
        {{ between_polls('scoped.earliest_ns', 'scoped.latest_ns') }}
    from scoped
    left join counter_spans
        on
            scoped.study_id = counter_spans.study_id
            and scoped.run_id = counter_spans.run_id
),

final as (
    select
        study_id,
        run_id,
        count(case when fate in ('delivered', 'not_seen_before') then 1 end) as passed_packets,
        cast(sum(case when fate in ('delivered', 'not_seen_before') then packet_bytes else 0 end) as bigint) as passed_bytes,
        count(case when fate = 'dropped' then 1 end) as dropped_packets,
        count(case when fate = 'in_flight_at_end' then 1 end) as in_flight_packets,
        cast(sum(case when fate = 'in_flight_at_end' then packet_bytes else 0 end) as bigint) as in_flight_bytes,
        count(case when fate = 'not_seen_before' then 1 end) as not_seen_before_packets,
        max(before_ns) as last_before_ns,
        max(after_ns) as last_after_ns,
        count(case when is_declared and fate in ('delivered', 'not_seen_before') then 1 end) as declared_passed_packets,
        cast(
            sum(case when is_declared and fate in ('delivered', 'not_seen_before') then packet_bytes else 0 end) as bigint
        ) as declared_passed_bytes,
        count(case when is_declared and fate = 'dropped' then 1 end) as declared_dropped_packets,
        count(case when is_declared and fate = 'in_flight_at_end' then 1 end) as declared_in_flight_packets,
        cast(
            sum(case when is_declared and fate = 'in_flight_at_end' then packet_bytes else 0 end) as bigint
        ) as declared_in_flight_bytes,
        count(case when is_surely_polled and fate in ('delivered', 'not_seen_before') then 1 end) as polled_least_passed_packets,
        count(
            case when is_perhaps_polled and fate in ('delivered', 'not_seen_before', 'in_flight_at_end') then 1 end
        ) as polled_most_passed_packets,
        cast(
            sum(case when is_surely_polled and fate in ('delivered', 'not_seen_before') then packet_bytes else 0 end) as bigint
        ) as polled_least_passed_bytes,
        cast(
            sum(
                case
                    when is_perhaps_polled and fate in ('delivered', 'not_seen_before', 'in_flight_at_end') then packet_bytes
                    else 0
                end
            ) as bigint
        ) as polled_most_passed_bytes,
        count(case when is_surely_polled and fate = 'dropped' then 1 end) as polled_least_dropped_packets,
        count(case when is_perhaps_polled and fate in ('dropped', 'in_flight_at_end') then 1 end) as polled_most_dropped_packets
    from polled
    group by study_id, run_id
)

select * from final
