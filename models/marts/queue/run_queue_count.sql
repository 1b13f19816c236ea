{%- set counts = [
    'enqueued_packets', 'dequeued_packets', 'dropped_packets', 'dropped_overlimit_packets', 'dropped_aqm_packets', 'dropped_in_queue_packets',
    'unseen_enqueue_packets', 'queued_at_end_packets', 'window_dropped_packets'
] -%}
with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

role_counts as (
    select
        study_id,
        run_id,
        case when role in {{ competing_roles() }} then role else 'other' end as role,
        count(case when is_enqueue_seen then 1 end) as enqueued_packets,
        count(case when fate = 'dequeued' then 1 end) as dequeued_packets,
        count(case when fate in ('dropped_at_enqueue', 'dropped_in_queue') then 1 end) as dropped_packets,
        count(case when drop_kind = 'overlimit' then 1 end) as dropped_overlimit_packets,
        count(case when drop_kind = 'aqm' then 1 end) as dropped_aqm_packets,
        count(case when fate = 'dropped_in_queue' then 1 end) as dropped_in_queue_packets,
        count(case when fate in ('dequeued', 'dropped_in_queue') and not is_enqueue_seen then 1 end) as unseen_enqueue_packets,
        count(case when fate = 'queued_at_end' then 1 end) as queued_at_end_packets,
        count(
            case when fate in ('dropped_at_enqueue', 'dropped_in_queue') and departs_in_window then 1 end
        ) as window_dropped_packets
    from packets
    group by
        study_id,
        run_id,
        case when role in {{ competing_roles() }} then role else 'other' end
),

run_counts as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        'all' as role,
        {%- for column in counts %}
            cast(coalesce(sum(role_counts.{{ column }}), 0) as bigint) as {{ column }},
        {%- endfor %}
        max(queue_logs.lost_events) as lost_events
    from queue_logs
    left join role_counts
        on
            queue_logs.study_id = role_counts.study_id
            and queue_logs.run_id = role_counts.run_id
    group by queue_logs.study_id, queue_logs.run_id
),

all_counts as (
    select
        study_id,
        run_id,
        role,
        {{ counts | join(',\n        ') }},
        cast(null as bigint) as lost_events
    from role_counts

    union all

    select
        study_id,
        run_id,
        role,
        {{ counts | join(',\n        ') }},
        lost_events
    from run_counts
),

final as (
    select
        all_counts.study_id,
        all_counts.run_id,
        all_counts.role,
        all_counts.enqueued_packets,
        all_counts.dequeued_packets,
        all_counts.dropped_packets,
        all_counts.dropped_overlimit_packets,
        all_counts.dropped_aqm_packets,
        all_counts.dropped_in_queue_packets,
        all_counts.unseen_enqueue_packets,
        all_counts.queued_at_end_packets,
        all_counts.lost_events,
        all_counts.window_dropped_packets,
        reconciliations.reconciliation_verdict
    from all_counts
    left join reconciliations
        on
            all_counts.study_id = reconciliations.study_id
            and all_counts.run_id = reconciliations.run_id
)

select * from final
