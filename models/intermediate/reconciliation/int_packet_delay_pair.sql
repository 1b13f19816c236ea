{%- set packet = [
    'study_id', 'run_id', 'protocol', 'source_host_key', 'source_port', 'destination_host_key', 'destination_port', 'ip_identification',
    'transport_word'
] -%}
-- Packets that both the queue log and the captures contain. Packets with equal keys match in order of time.
with

bottlenecks as (
    select * from {{ ref('int_run_queue') }}
    where is_bottleneck
),

capture_pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

queue_packets as (
    select * from {{ ref('stg_lake__queue_packet') }}
),

packet_pairs as (
    select * from {{ ref('stg_lake__packet_pair') }}
),

roles as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

logged as (
    select
        bottlenecks.study_id,
        bottlenecks.run_id,
        queue_packets.packet_index,
        queue_packets.fate,
        queue_packets.sojourn_ns,
        queue_packets.packet_bytes,
        queue_packets.protocol,
        queue_packets.source_host_key,
        coalesce(queue_packets.source_port, -1) as source_port,
        queue_packets.destination_host_key,
        coalesce(queue_packets.destination_port, -1) as destination_port,
        coalesce(queue_packets.ip_id, 0) as ip_identification,
        coalesce(queue_packets.transport_word, -1) as transport_word,
        coalesce(queue_packets.enqueue_ns, queue_packets.dequeue_ns, queue_packets.drop_ns) as first_seen_ns
    from queue_packets
    inner join bottlenecks
        on
            queue_packets.source_hash = bottlenecks.source_hash
            and queue_packets.queue_number = bottlenecks.queue_number
    where queue_packets.protocol is not null
),

captured as (
    select
        capture_pairs.study_id,
        capture_pairs.run_id,
        packet_pairs.packet_index,
        packet_pairs.fate,
        packet_pairs.queuing_delay_ns,
        packet_pairs.protocol,
        packet_pairs.source_host_key,
        coalesce(packet_pairs.source_port, -1) as source_port,
        packet_pairs.destination_host_key,
        coalesce(packet_pairs.destination_port, -1) as destination_port,
        packet_pairs.ip_identification,
        coalesce(packet_pairs.transport_word, -1) as transport_word,
        coalesce(packet_pairs.before_ns, packet_pairs.after_ns) as first_seen_ns
    from packet_pairs
    inner join capture_pairs
        on packet_pairs.source_hash = capture_pairs.source_hash
),

logged_in_order as (
    select
        *,
        row_number() over (
            partition by {{ packet | join(', ') }}
            order by first_seen_ns, packet_index
        ) as repetition
    from logged
),

captured_in_order as (
    select
        *,
        row_number() over (
            partition by {{ packet | join(', ') }}
            order by first_seen_ns, packet_index
        ) as repetition
    from captured
),

final as (
    select
        logged_in_order.study_id,
        logged_in_order.run_id,
        logged_in_order.packet_index,
        captured_in_order.packet_index as pair_packet_index,
        roles.role,
        logged_in_order.packet_bytes,
        logged_in_order.fate,
        captured_in_order.fate as pair_fate,
        logged_in_order.sojourn_ns,
        captured_in_order.queuing_delay_ns,
        captured_in_order.queuing_delay_ns - logged_in_order.sojourn_ns as difference_ns,
        abs(captured_in_order.queuing_delay_ns - logged_in_order.sojourn_ns)
        > thresholds.threshold_value * 8000000000 / runs.bandwidth_bps as is_beyond_frame
    from logged_in_order
    inner join captured_in_order
        on
            logged_in_order.repetition = captured_in_order.repetition
            and {{ same_columns('logged_in_order', 'captured_in_order', packet) }}
    inner join roles
        on
            logged_in_order.study_id = roles.study_id
            and logged_in_order.run_id = roles.run_id
            and logged_in_order.packet_index = roles.packet_index
    inner join runs
        on
            logged_in_order.study_id = runs.study_id
            and logged_in_order.run_id = runs.run_id
    cross join thresholds
)

select * from final
