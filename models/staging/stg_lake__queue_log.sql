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
        first_event_ns,
        last_event_ns,
        clock
    from source
)

select * from final
