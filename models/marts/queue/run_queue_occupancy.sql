with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
    where utc_offset_ns is not null
),

queue_intervals as (
    select * from {{ ref('stg_lake__queue_interval') }}
),

queues as (
    select * from {{ ref('int_run_queue') }}
),

timed as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        queue_intervals.queue_number,
        queues.is_bottleneck,
        queues.queue_place,
        queue_intervals.interval_start_ns + queue_logs.utc_offset_ns as interval_start_utc_ns,
        queue_intervals.interval_ms,
        queue_intervals.observed_ns,
        queue_intervals.arrived_packets,
        queue_intervals.arrived_bytes,
        queue_intervals.departed_packets,
        queue_intervals.departed_bytes,
        queue_intervals.dropped_packets,
        queue_intervals.dropped_bytes,
        queue_intervals.occupancy_mean_packets,
        queue_intervals.occupancy_mean_bytes,
        queue_intervals.occupancy_max_packets,
        queue_intervals.occupancy_max_bytes,
        queue_intervals.busy_ratio,
        queue_intervals.sojourn_min_us,
        queue_intervals.lost_events
    from queue_intervals
    inner join queue_logs
        on queue_intervals.source_hash = queue_logs.source_hash
    inner join queues
        on
            queue_logs.study_id = queues.study_id
            and queue_logs.run_id = queues.run_id
            and queue_intervals.queue_number = queues.queue_number
),

final as (
    select
        timed.study_id,
        timed.run_id,
        timed.queue_number,
        timed.interval_start_utc_ns,
        timed.is_bottleneck,
        timed.queue_place,
        timed.interval_ms,
        cast(timed.observed_ns as double) / 1000000 as observed_ms,
        cast(timed.interval_start_utc_ns - runs.start_ns as double) / 1000000 as since_start_ms,
        cast(timed.interval_start_utc_ns - runs.window_start_ns as double) / 1000000 as since_window_start_ms,
        coalesce(
            timed.interval_start_utc_ns >= runs.window_start_ns
            and timed.interval_start_utc_ns < runs.window_end_ns,
            false
        ) as starts_in_window,
        timed.arrived_packets,
        timed.arrived_bytes,
        timed.departed_packets,
        timed.departed_bytes,
        timed.dropped_packets,
        timed.dropped_bytes,
        timed.occupancy_mean_packets,
        timed.occupancy_mean_bytes,
        timed.occupancy_max_packets,
        timed.occupancy_max_bytes,
        -- The run's limit applies only to the bottleneck queue.
        case
            when timed.is_bottleneck and runs.queue_limit_bytes is not null then timed.occupancy_mean_bytes / runs.queue_limit_bytes
            when timed.is_bottleneck then timed.occupancy_mean_packets / runs.queue_limit_packets
        end as occupancy_mean_share_ratio,
        timed.busy_ratio,
        cast(timed.sojourn_min_us as double) / 1000 as sojourn_min_ms,
        timed.lost_events,
        reconciliations.reconciliation_verdict
    from timed
    inner join runs
        on
            timed.study_id = runs.study_id
            and timed.run_id = runs.run_id
    left join reconciliations
        on
            timed.study_id = reconciliations.study_id
            and timed.run_id = reconciliations.run_id
)

select * from final
