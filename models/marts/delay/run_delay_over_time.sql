with

runs as (
    select * from {{ ref('int_run_described') }}
),

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

seconds as (
    select * from {{ ref('int_run_second') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where
        departs_in_window
        and role in {{ competing_roles() }}
),

timed as (
    select
        packets.study_id,
        packets.run_id,
        packets.role,
        {{ integer_divide('packets.departure_utc_ns - runs.window_start_ns', 1000000000) }} as second,
        packets.packet_index,
        packets.fate = 'dequeued' as is_dequeued,
        packets.drop_kind is not null as is_dropped,
        packets.packet_bytes,
        case when packets.fate = 'dequeued' then packets.sojourn_ns end as sojourn_ns
    from packets
    inner join runs
        on
            packets.study_id = runs.study_id
            and packets.run_id = runs.run_id
),

{{ delays_by_second('timed', 'role') }},

roles as (
    select distinct
        study_id,
        run_id,
        role
    from counted
),

-- Every second of the window has a row: a second without a packet has a rate of 0 and is not a gap.
final as (
    select
        roles.study_id,
        roles.run_id,
        roles.role,
        seconds.second,
        coalesce(counted.packets, 0) as packets,
        coalesce(counted.dropped_packets, 0) as dropped_packets,
        cast(coalesce(counted.bytes, 0) * 8 as double) as rate_bps,
        cast(counted.median_ns as double) / 1000000 as median_ms,
        cast(counted.p95_ns as double) / 1000000 as p95_ms,
        cast(counted.maximum_ns as double) / 1000000 as maximum_ms,
        reconciliations.reconciliation_verdict
    from roles
    inner join seconds
        on
            roles.study_id = seconds.study_id
            and roles.run_id = seconds.run_id
    left join counted
        on
            roles.study_id = counted.study_id
            and roles.run_id = counted.run_id
            and roles.role = counted.role
            and seconds.second = counted.second
    left join reconciliations
        on
            roles.study_id = reconciliations.study_id
            and roles.run_id = reconciliations.run_id
)

select * from final
