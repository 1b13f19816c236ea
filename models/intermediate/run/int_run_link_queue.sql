-- Queue in the log that belongs to each direction: the bottleneck's is already chosen, and the manifest names the other.
with

links as (
    select * from {{ ref('int_run_link') }}
),

queues as (
    select * from {{ ref('int_run_queue') }}
),

matched as (
    select
        links.study_id,
        links.run_id,
        links.link_direction,
        links.is_bottleneck,
        queues.source_hash,
        queues.queue_number,
        row_number() over (
            partition by links.study_id, links.run_id, links.link_direction
            order by queues.dequeue_events desc, queues.queue_number asc
        ) as preference
    from links
    inner join queues
        on
            links.study_id = queues.study_id
            and links.run_id = queues.run_id
            and (
                (links.is_bottleneck and queues.is_bottleneck)
                or (
                    not links.is_bottleneck
                    and not queues.is_bottleneck
                    and (links.queue_interface is not null or links.queue_handle is not null)
                    and (links.queue_interface is null or links.queue_interface = queues.interface_name)
                    and (links.queue_handle is null or links.queue_handle = queues.handle)
                )
            )
),

final as (
    select
        study_id,
        run_id,
        link_direction,
        is_bottleneck,
        source_hash,
        queue_number
    from matched
    where preference = 1
)

select * from final
