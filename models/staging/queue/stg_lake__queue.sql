with

source as (
    select * from {{ source('lake', 'queue') }}
),

final as (
    select
        source_hash,
        decoder_version,
        queue_number,
        interface_index,
        interface_name,
        network_namespace,
        handle,
        enqueue_events,
        dequeue_events,
        drop_events,
        counted_drops,
        first_event_ns,
        last_event_ns
    from source
)

select * from final
