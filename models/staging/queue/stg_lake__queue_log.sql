with

source as (
    select * from {{ source('lake', 'queue_log') }}
),

final as (
    select
        source_hash,
        decoder_version,
        enqueue_events,
        dequeue_events,
        drop_events,
        lost_events,
        lost_events_is_minimum,
        probe_failed,
        first_event_ns,
        last_event_ns,
        clock,
        clock_offset_ns,
        open_enqueues,
        open_dequeues,
        stated_open_enqueues,
        stated_open_dequeues
    from source
)

select * from final
