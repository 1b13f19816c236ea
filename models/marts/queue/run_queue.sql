with

runs as (
    select * from {{ ref('int_run_described') }}
),

queues as (
    select * from {{ ref('int_run_queue') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

packets as (
    select * from {{ ref('stg_lake__queue_packet') }}
    where fate = 'dequeued'
),

ranked as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        packets.queue_number,
        packets.sojourn_ns,
        row_number() over (
            partition by queue_logs.study_id, queue_logs.run_id, packets.queue_number
            order by packets.sojourn_ns
        ) as delay_rank,
        count(*) over (partition by queue_logs.study_id, queue_logs.run_id, packets.queue_number) as delays
    from packets
    inner join queue_logs
        on packets.source_hash = queue_logs.source_hash
    inner join runs
        on
            queue_logs.study_id = runs.study_id
            and queue_logs.run_id = runs.run_id
    where
        packets.dequeue_ns + queue_logs.utc_offset_ns >= runs.window_start_ns
        and packets.dequeue_ns + queue_logs.utc_offset_ns < runs.window_end_ns
        and packets.sojourn_ns is not null
),

measured as (
    select
        study_id,
        run_id,
        queue_number,
        count(*) as packets,
        cast(sum(sojourn_ns) as double) / count(*) / 1000000 as mean_ms,
        cast(max(case when delay_rank = {{ percentile_rank(500, 'delays') }} then sojourn_ns end) as double) / 1000000 as median_ms,
        cast(max(case when delay_rank = {{ percentile_rank(950, 'delays') }} then sojourn_ns end) as double) / 1000000 as p95_ms,
        cast(max(case when delay_rank = {{ percentile_rank(990, 'delays') }} then sojourn_ns end) as double) / 1000000 as p99_ms,
        cast(max(sojourn_ns) as double) / 1000000 as max_ms
    from ranked
    group by
        study_id,
        run_id,
        queue_number
),

final as (
    select
        queues.study_id,
        queues.run_id,
        queues.queue_number,
        queues.interface_name,
        queues.handle,
        queues.is_bottleneck,
        queues.bottleneck_basis,
        queues.queue_place,
        queues.enqueue_events as enqueued_packets,
        queues.dequeue_events as dequeued_packets,
        queues.drop_events as dropped_packets,
        coalesce(measured.packets, 0) as packets,
        measured.mean_ms,
        measured.median_ms,
        measured.p95_ms,
        measured.p99_ms,
        measured.max_ms
    from queues
    left join measured
        on
            queues.study_id = measured.study_id
            and queues.run_id = measured.run_id
            and queues.queue_number = measured.queue_number
)

select * from final
