-- Utilisation and loss of the link in the direction opposite to the bottleneck, within the run's window, from the queue that the manifest
-- names for it. An interval counts in the second in which it starts.
with

links as (
    select * from {{ ref('int_run_link') }}
    where not is_bottleneck
),

link_queues as (
    select * from {{ ref('int_run_link_queue') }}
    where not is_bottleneck
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
    where utc_offset_ns is not null
),

queue_intervals as (
    select * from {{ ref('stg_lake__queue_interval') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

seconds as (
    select * from {{ ref('int_run_second') }}
),

binned as (
    select
        link_queues.study_id,
        link_queues.run_id,
        link_queues.link_direction,
        {{ integer_divide('queue_intervals.interval_start_ns + queue_logs.utc_offset_ns - runs.window_start_ns', 1000000000) }} as second,
        sum(queue_intervals.departed_packets) as departed_packets,
        sum(queue_intervals.dropped_packets) as dropped_packets,
        -- A packet of unknown length makes the sum unknown, not smaller.
        case when count(queue_intervals.departed_bytes) = count(*) then sum(queue_intervals.departed_bytes) end as bytes
    from link_queues
    inner join queue_logs
        on
            link_queues.study_id = queue_logs.study_id
            and link_queues.run_id = queue_logs.run_id
            and link_queues.source_hash = queue_logs.source_hash
    inner join runs
        on
            link_queues.study_id = runs.study_id
            and link_queues.run_id = runs.run_id
    inner join queue_intervals
        on
            link_queues.source_hash = queue_intervals.source_hash
            and link_queues.queue_number = queue_intervals.queue_number
    where
        queue_intervals.interval_start_ns + queue_logs.utc_offset_ns >= runs.window_start_ns
        and queue_intervals.interval_start_ns + queue_logs.utc_offset_ns < runs.window_end_ns
    group by
        link_queues.study_id,
        link_queues.run_id,
        link_queues.link_direction,
        {{ integer_divide('queue_intervals.interval_start_ns + queue_logs.utc_offset_ns - runs.window_start_ns', 1000000000) }}
),

used as (
    select
        link_queues.study_id,
        link_queues.run_id,
        link_queues.link_direction,
        coalesce(binned.departed_packets, 0) as departed_packets,
        coalesce(binned.dropped_packets, 0) as dropped_packets,
        {{ share_of_link(
            'case when binned.run_id is null then 0 else binned.bytes end',
            'links.link_bandwidth_bps',
            'link_queues.study_id, link_queues.run_id, link_queues.link_direction',
        ) }} as utilisation_ratio
    from link_queues
    inner join links
        on
            link_queues.study_id = links.study_id
            and link_queues.run_id = links.run_id
            and link_queues.link_direction = links.link_direction
    -- Without its time in UTC, a log tells nothing of the window.
    inner join queue_logs
        on
            link_queues.study_id = queue_logs.study_id
            and link_queues.run_id = queue_logs.run_id
            and link_queues.source_hash = queue_logs.source_hash
    inner join seconds
        on
            link_queues.study_id = seconds.study_id
            and link_queues.run_id = seconds.run_id
    left join binned
        on
            link_queues.study_id = binned.study_id
            and link_queues.run_id = binned.run_id
            and link_queues.link_direction = binned.link_direction
            and seconds.second = binned.second
),

counted as (
    select
        *,
        cast(round(utilisation_ratio * 1000000) as bigint) as utilisation_millionths
    from used
),

spread as (
    select
        study_id,
        run_id,
        link_direction,
        sum(departed_packets) as departed_packets,
        sum(dropped_packets) as dropped_packets,
        case
            when count(utilisation_millionths) = count(*) then cast(sum(utilisation_millionths) as double) / count(*) / 1000000
        end as utilisation_ratio,
        {{ utilisation_spread() }}
    from counted
    group by
        study_id,
        run_id,
        link_direction
),

final as (
    select
        spread.study_id,
        spread.run_id,
        spread.link_direction,
        links.link_bandwidth_bps,
        links.link_aqm,
        links.link_queue_size_bdp,
        links.link_queue_limit_packets,
        link_queues.queue_number,
        spread.utilisation_ratio,
        spread.utilisation_standard_deviation_ratio,
        cast(spread.dropped_packets as double) / nullif(spread.departed_packets + spread.dropped_packets, 0) as drop_ratio
    from spread
    inner join links
        on
            spread.study_id = links.study_id
            and spread.run_id = links.run_id
            and spread.link_direction = links.link_direction
    inner join link_queues
        on
            spread.study_id = link_queues.study_id
            and spread.run_id = link_queues.run_id
            and spread.link_direction = link_queues.link_direction
)

select * from final
