with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where departs_in_window
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

role_and_all_packets as (
    {{ roles_and_all(
        'packets', ["fate = 'dequeued' as is_received", 'drop_kind', 'is_marked_here', 'packet_bytes'],
        role="case when role in " ~ competing_roles() ~ " then role else 'other' end as role"
    ) }}
),

counted as (
    select
        study_id,
        run_id,
        role,
        count(case when is_received then 1 end) as received_packets,
        -- A packet of unknown length makes the sum unknown, not smaller.
        case
            when count(case when is_received and packet_bytes is null then 1 end) = 0
                then cast(sum(case when is_received then packet_bytes else 0 end) as bigint)
        end as received_bytes,
        count(case when not is_received then 1 end) as dropped_packets,
        case
            when count(case when not is_received and packet_bytes is null then 1 end) = 0
                then cast(sum(case when is_received then 0 else packet_bytes end) as bigint)
        end as dropped_bytes,
        count(case when drop_kind = 'overlimit' then 1 end) as dropped_overlimit_packets,
        count(case when drop_kind = 'aqm' then 1 end) as dropped_aqm_packets,
        case when count(is_marked_here) > 0 then count(case when is_received and is_marked_here then 1 end) end as ecn_marked_packets,
        count(*) as packets
    from role_and_all_packets
    group by study_id, run_id, role
),

final as (
    select
        counted.study_id,
        counted.run_id,
        counted.role,
        counted.received_packets,
        counted.received_bytes,
        counted.dropped_packets,
        counted.dropped_bytes,
        counted.dropped_overlimit_packets,
        counted.dropped_aqm_packets,
        counted.ecn_marked_packets,
        cast(counted.dropped_packets as double) / counted.packets as loss_ratio,
        queue_logs.lost_events,
        reconciliations.reconciliation_verdict
    from counted
    inner join queue_logs
        on
            counted.study_id = queue_logs.study_id
            and counted.run_id = queue_logs.run_id
    left join reconciliations
        on
            counted.study_id = reconciliations.study_id
            and counted.run_id = reconciliations.run_id
)

select * from final
