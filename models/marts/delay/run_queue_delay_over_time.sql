-- Each queue of a run's queue log separately: a packet that passes two queues waits in both.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

seconds as (
    select * from {{ ref('int_run_second') }}
),

queues as (
    select * from {{ ref('int_run_queue') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
    where utc_offset_ns is not null
),

packets as (
    select * from {{ ref('stg_lake__queue_packet') }}
),

departed as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        packets.queue_number,
        packets.packet_index,
        packets.fate,
        packets.drop_kind,
        packets.packet_bytes,
        packets.sojourn_ns,
        coalesce(packets.dequeue_ns, packets.drop_ns) + queue_logs.utc_offset_ns - runs.window_start_ns as since_window_start_ns
    from packets
    inner join queue_logs
        on packets.source_hash = queue_logs.source_hash
    inner join runs
        on
            queue_logs.study_id = runs.study_id
            and queue_logs.run_id = runs.run_id
    where coalesce(packets.dequeue_ns, packets.drop_ns) + queue_logs.utc_offset_ns < runs.window_end_ns
),

timed as (
    select
        study_id,
        run_id,
        queue_number,
        {{ integer_divide('since_window_start_ns', 1000000000) }} as second,
        packet_index,
        fate = 'dequeued' as is_dequeued,
        drop_kind is not null as is_dropped,
        packet_bytes,
        case when fate = 'dequeued' then sojourn_ns end as sojourn_ns
    from departed
    where since_window_start_ns >= 0
),

{{ delays_by_second('timed', 'queue_number') }},

final as (
    select
        queues.study_id,
        queues.run_id,
        queues.queue_number,
        seconds.second,
        queues.is_bottleneck,
        queues.queue_place,
        coalesce(counted.packets, 0) as packets,
        coalesce(counted.dropped_packets, 0) as dropped_packets,
        cast(coalesce(counted.bytes, 0) * 8 as double) as rate_bps,
        cast(counted.median_ns as double) / 1000000 as median_ms,
        cast(counted.p95_ns as double) / 1000000 as p95_ms,
        cast(counted.maximum_ns as double) / 1000000 as maximum_ms
    from queues
    -- Without a clock offset, a log cannot be placed in the window and has no rows.
    inner join queue_logs
        on
            queues.study_id = queue_logs.study_id
            and queues.run_id = queue_logs.run_id
    inner join seconds
        on
            queues.study_id = seconds.study_id
            and queues.run_id = seconds.run_id
    left join counted
        on
            queues.study_id = counted.study_id
            and queues.run_id = counted.run_id
            and queues.queue_number = counted.queue_number
            and seconds.second = counted.second
)

select * from final
