-- Packets of an RTP stream at the bottleneck within the run's window, in order of arrival. They come from the queue log. If the log
-- contains none of them or lost events, they come from the capture pair, if that contains any.
with

streams as (
    select * from {{ ref('int_voice_stream') }}
    where told_by != 'none'
),

runs as (
    select * from {{ ref('int_run_described') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

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

logged as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        'queue_log' as packet_basis,
        case when queue_logs.lost_events = 0 then 1 else 3 end as basis_rank,
        queue_packets.packet_index,
        coalesce(queue_packets.enqueue_ns, queue_packets.drop_ns, queue_packets.dequeue_ns) + queue_logs.utc_offset_ns as sent_ns,
        queue_packets.fate in ('dropped_at_enqueue', 'dropped_in_queue') as is_lost,
        queue_packets.sojourn_ns as delay_ns,
        queue_packets.source_host_key,
        queue_packets.source_port,
        queue_packets.destination_host_key,
        queue_packets.destination_port,
        queue_packets.transport_word
    from queue_packets
    inner join queue_logs
        on queue_packets.source_hash = queue_logs.source_hash
    inner join bottlenecks
        on
            queue_logs.study_id = bottlenecks.study_id
            and queue_logs.run_id = bottlenecks.run_id
            and queue_packets.queue_number = bottlenecks.queue_number
    where
        queue_packets.protocol = 'udp'
        and queue_packets.fate != 'queued_at_end'
),

captured as (
    select
        capture_pairs.study_id,
        capture_pairs.run_id,
        'capture_pair' as packet_basis,
        2 as basis_rank,
        packet_pairs.packet_index,
        coalesce(packet_pairs.before_ns, packet_pairs.after_ns) as sent_ns,
        packet_pairs.fate = 'dropped' as is_lost,
        packet_pairs.queuing_delay_ns as delay_ns,
        packet_pairs.source_host_key,
        packet_pairs.source_port,
        packet_pairs.destination_host_key,
        packet_pairs.destination_port,
        packet_pairs.transport_word
    from packet_pairs
    inner join capture_pairs
        on packet_pairs.source_hash = capture_pairs.source_hash
    where
        packet_pairs.protocol = 'udp'
        and packet_pairs.fate != 'in_flight_at_end'
),

udp_packets as (
    select * from logged
    union all
    select * from captured
),

-- RTP has version 2 in its first two bits; a second byte of 192 to 223 is RTCP (RFC 5761). The flow may also contain STUN and DTLS.
rtp_packets as (
    select
        *,
        {{ integer_divide('transport_word', 65536) }} % 128 as payload_type
    from udp_packets
    where
        transport_word >= 2147483648
        and transport_word < 3221225472
        and {{ integer_divide('transport_word', 65536) }} % 256 not between 192 and 223
),

of_streams as (
    select
        streams.study_id,
        streams.run_id,
        streams.ssrc,
        rtp_packets.packet_basis,
        rtp_packets.packet_index,
        rtp_packets.sent_ns - runs.window_start_ns as offset_ns,
        runs.window_end_ns - runs.window_start_ns as window_ns,
        rtp_packets.is_lost,
        case when not rtp_packets.is_lost then rtp_packets.delay_ns end as delay_ns,
        rtp_packets.transport_word,
        rtp_packets.basis_rank,
        min(rtp_packets.basis_rank) over (partition by streams.study_id, streams.run_id, streams.ssrc) as best_rank
    from rtp_packets
    inner join streams
        on
            rtp_packets.study_id = streams.study_id
            and rtp_packets.run_id = streams.run_id
            and rtp_packets.source_host_key = streams.sender_host_key
            and rtp_packets.source_port = streams.sender_port
            and rtp_packets.destination_host_key = streams.receiver_host_key
            and rtp_packets.destination_port = streams.receiver_port
            and (streams.told_by = 'flow' or rtp_packets.payload_type = streams.payload_type)
    inner join runs
        on
            streams.study_id = runs.study_id
            and streams.run_id = runs.run_id
),

-- The transport word contains the sequence number. The same word again within 5 s is a copy, sent again after a loss: sequence numbers do
-- not wrap in that time up to 13,000 packets per second.
compared as (
    select
        *,
        case
            when
                offset_ns - lag(offset_ns) over (
                    partition by study_id, run_id, ssrc, transport_word
                    order by offset_ns, packet_index
                ) <= 5000000000
                then 0
            else 1
        end as is_first_copy
    from of_streams
    where basis_rank = best_rank
),

numbered as (
    select
        *,
        sum(is_first_copy) over (
            partition by study_id, run_id, ssrc, transport_word
            order by offset_ns, packet_index
            rows between unbounded preceding and current row
        ) as number_of_word
    from compared
),

merged as (
    select
        study_id,
        run_id,
        ssrc,
        max(packet_basis) as packet_basis,
        min(packet_index) as packet_index,
        min(offset_ns) as offset_ns,
        max(window_ns) as window_ns,
        count(*) as copies,
        min(case when is_lost then 1 else 0 end) = 1 as is_lost,
        min(offset_ns + delay_ns) - min(offset_ns) as delay_ns,
        -- The marker is the first bit of the second byte. In video, it ends a frame (RFC 3550 section 5.1, RFC 6184).
        {{ integer_divide('transport_word', 8388608) }} % 2 = 1 as is_marked
    from numbered
    group by
        study_id,
        run_id,
        ssrc,
        transport_word,
        number_of_word
),

final as (
    select
        study_id,
        run_id,
        ssrc,
        packet_basis,
        packet_index,
        offset_ns,
        copies,
        is_lost,
        delay_ns,
        is_marked
    from merged
    where
        offset_ns >= 0
        and offset_ns < window_ns
)

select * from final
