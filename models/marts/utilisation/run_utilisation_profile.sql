with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

seconds as (
    select * from {{ ref('int_run_second') }}
),

link_rates as (
    select * from {{ ref('int_run_link_rate') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where
        departs_in_window
        and fate = 'dequeued'
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
    where utc_offset_ns is not null
),

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

data_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where
        measurement = 'capture_after'
        and is_data_direction
),

logged as (
    select
        packets.study_id,
        packets.run_id,
        {{ integer_divide('packets.departure_utc_ns - runs.window_start_ns', 1000000000) }} as second,
        count(*) as packets,
        -- A packet of unknown length makes the sum unknown, not smaller.
        case when count(packets.packet_bytes) = count(*) then cast(sum(packets.packet_bytes) as bigint) end as bytes,
        cast(sum(packets.sojourn_ns) as double) / count(packets.sojourn_ns) / 1000000 as queuing_delay_mean_ms
    from packets
    inner join runs
        on
            packets.study_id = runs.study_id
            and packets.run_id = runs.run_id
    group by
        packets.study_id,
        packets.run_id,
        {{ integer_divide('packets.departure_utc_ns - runs.window_start_ns', 1000000000) }}
),

-- An interval counts in the second in which it starts.
captured as (
    select
        data_directions.study_id,
        data_directions.run_id,
        {{ integer_divide('flow_intervals.interval_start_ns - runs.window_start_ns', 1000000000) }} as second,
        cast(sum(flow_intervals.packets) as bigint) as packets,
        cast(sum(flow_intervals.bytes) as bigint) as bytes
    {{ from_flow_intervals() }}
    where
        flow_intervals.interval_start_ns >= runs.window_start_ns
        and flow_intervals.interval_start_ns < runs.window_end_ns
    group by
        data_directions.study_id,
        data_directions.run_id,
        {{ integer_divide('flow_intervals.interval_start_ns - runs.window_start_ns', 1000000000) }}
),

second_starts as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.second,
        runs.window_start_ns + cast(seconds.second as bigint) * 1000000000 as second_start_ns
    from seconds
    inner join runs
        on
            seconds.study_id = runs.study_id
            and seconds.run_id = runs.run_id
),

-- The link rate, time-weighted if it changes within the second; a second before the programme starts has none.
second_rates as (
    select
        second_starts.study_id,
        second_starts.run_id,
        second_starts.second,
        sum(
            cast(link_rates.bandwidth_bps as double)
            * (
                least(link_rates.span_end_ns, second_starts.second_start_ns + 1000000000)
                - greatest(link_rates.span_start_ns, second_starts.second_start_ns)
            )
        ) / 1000000000 as link_rate_bps
    from second_starts
    inner join link_rates
        on
            second_starts.study_id = link_rates.study_id
            and second_starts.run_id = link_rates.run_id
            and second_starts.second_start_ns < link_rates.span_end_ns
            and second_starts.second_start_ns + 1000000000 > link_rates.span_start_ns
    group by
        second_starts.study_id,
        second_starts.run_id,
        second_starts.second
    having
        sum(
            least(link_rates.span_end_ns, second_starts.second_start_ns + 1000000000)
            - greatest(link_rates.span_start_ns, second_starts.second_start_ns)
        ) = 1000000000
),

-- The queue log is the bottleneck's own record; a run without one uses its capture.
bases as (
    select
        runs.study_id,
        runs.run_id,
        case when queue_logs.run_id is not null then 'queue_log' else 'capture_after' end as utilisation_basis,
        queue_logs.lost_events
    from runs
    left join queue_logs
        on
            runs.study_id = queue_logs.study_id
            and runs.run_id = queue_logs.run_id
    where
        queue_logs.run_id is not null
        or runs.has_capture_after
),

binned as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.second,
        bases.utilisation_basis,
        bases.lost_events,
        case
            when bases.utilisation_basis = 'queue_log' then coalesce(logged.packets, 0)
            else coalesce(captured.packets, 0)
        end as packets,
        case
            when bases.utilisation_basis != 'queue_log' then coalesce(captured.bytes, 0)
            when logged.packets is null then 0
            else logged.bytes
        end as bytes,
        second_rates.link_rate_bps,
        logged.queuing_delay_mean_ms
    from seconds
    inner join bases
        on
            seconds.study_id = bases.study_id
            and seconds.run_id = bases.run_id
    left join second_rates
        on
            seconds.study_id = second_rates.study_id
            and seconds.run_id = second_rates.run_id
            and seconds.second = second_rates.second
    left join logged
        on
            seconds.study_id = logged.study_id
            and seconds.run_id = logged.run_id
            and seconds.second = logged.second
    left join captured
        on
            seconds.study_id = captured.study_id
            and seconds.run_id = captured.run_id
            and seconds.second = captured.second
),

final as (
    select
        binned.study_id,
        binned.run_id,
        binned.second,
        binned.utilisation_basis,
        binned.packets,
        binned.bytes,
        binned.link_rate_bps,
        {{ share_of_link('binned.bytes', 'binned.link_rate_bps', 'binned.study_id, binned.run_id') }} as utilisation_ratio,
        binned.queuing_delay_mean_ms,
        binned.lost_events,
        reconciliations.reconciliation_verdict
    from binned
    left join reconciliations
        on
            binned.study_id = reconciliations.study_id
            and binned.run_id = reconciliations.run_id
)

select * from final
