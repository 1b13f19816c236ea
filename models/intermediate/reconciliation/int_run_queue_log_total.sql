with

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

scoped as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        packets.fate,
        packets.packet_bytes,
        coalesce(packets.role in {{ declared_roles() }}, false) as is_declared,
        {{ between_polls('packets.departure_utc_ns', 'packets.departure_utc_ns') }}
    from queue_logs
    left join packets
        on
            queue_logs.study_id = packets.study_id
            and queue_logs.run_id = packets.run_id
    left join counter_spans
        on
            queue_logs.study_id = counter_spans.study_id
            and queue_logs.run_id = counter_spans.run_id
),

final as (
    select
        study_id,
        run_id,
        cast(sum(case when fate = 'dequeued' then 1 else 0 end) as bigint) as dequeued_packets,
        cast(sum(case when fate = 'dequeued' and is_declared then 1 else 0 end) as bigint) as declared_dequeued_packets,
        cast(sum(case when fate = 'dequeued' and is_surely_polled then 1 else 0 end) as bigint) as polled_least_dequeued_packets,
        cast(sum(case when fate = 'dequeued' and is_perhaps_polled then 1 else 0 end) as bigint) as polled_most_dequeued_packets,
        case
            when count(case when fate = 'dequeued' and packet_bytes is null then 1 end) = 0
                then cast(sum(case when fate = 'dequeued' then packet_bytes else 0 end) as bigint)
        end as dequeued_bytes,
        case
            when count(case when fate = 'dequeued' and is_declared and packet_bytes is null then 1 end) = 0
                then cast(sum(case when fate = 'dequeued' and is_declared then packet_bytes else 0 end) as bigint)
        end as declared_dequeued_bytes,
        case
            when count(case when fate = 'dequeued' and is_surely_polled and packet_bytes is null then 1 end) = 0
                then cast(sum(case when fate = 'dequeued' and is_surely_polled then packet_bytes else 0 end) as bigint)
        end as polled_least_dequeued_bytes,
        case
            when count(case when fate = 'dequeued' and is_perhaps_polled and packet_bytes is null then 1 end) = 0
                then cast(sum(case when fate = 'dequeued' and is_perhaps_polled then packet_bytes else 0 end) as bigint)
        end as polled_most_dequeued_bytes,
        cast(sum(case when fate in ('dropped_at_enqueue', 'dropped_in_queue') then 1 else 0 end) as bigint) as dropped_packets,
        cast(
            sum(case when fate in ('dropped_at_enqueue', 'dropped_in_queue') and is_declared then 1 else 0 end) as bigint
        ) as declared_dropped_packets,
        cast(
            sum(case when fate in ('dropped_at_enqueue', 'dropped_in_queue') and is_surely_polled then 1 else 0 end) as bigint
        ) as polled_least_dropped_packets,
        cast(
            sum(case when fate in ('dropped_at_enqueue', 'dropped_in_queue') and is_perhaps_polled then 1 else 0 end) as bigint
        ) as polled_most_dropped_packets
    from scoped
    group by study_id, run_id
)

select * from final
