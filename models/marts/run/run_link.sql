with

runs as (
    select * from {{ ref('int_run_described') }}
),

links as (
    select * from {{ ref('int_run_link') }}
),

queues as (
    select * from {{ ref('run_queue') }}
),

-- The queue of the log that is this direction's: that of the bottleneck is chosen already, the other's is named by the manifest.
matched as (
    select
        links.study_id,
        links.run_id,
        links.link_direction,
        queues.queue_number,
        queues.packets,
        queues.mean_ms,
        row_number() over (
            partition by links.study_id, links.run_id, links.link_direction
            order by queues.dequeued_packets desc, queues.queue_number asc
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

measured as (
    select
        links.*,
        matched.queue_number,
        matched.packets as link_packets,
        matched.mean_ms as queuing_delay_mean_ms
    from links
    left join matched
        on
            links.study_id = matched.study_id
            and links.run_id = matched.run_id
            and links.link_direction = matched.link_direction
            and matched.preference = 1
),

final as (
    select
        measured.study_id,
        measured.run_id,
        measured.link_direction,
        {{ run_dimensions('runs') }},
        measured.is_bottleneck,
        measured.link_basis,
        measured.link_bandwidth_bps,
        measured.link_delay_ms,
        measured.link_aqm,
        measured.link_queue_size_bytes,
        measured.link_queue_limit_packets,
        measured.link_queue_size_bdp,
        measured.link_queue_scheme,
        measured.queue_number,
        coalesce(measured.link_packets, 0) as link_packets,
        measured.queuing_delay_mean_ms,
        opposite.queuing_delay_mean_ms as opposite_queuing_delay_mean_ms,
        cast(measured.link_bandwidth_bps as double) * runs.rtt_ms / 12000000 as bdp_packets,
        cast(measured.link_bandwidth_bps as double) * (runs.rtt_ms + opposite.queuing_delay_mean_ms)
        / 12000000 as bdp_with_opposite_queue_packets,
        case
            when measured.link_bandwidth_bps is null then 'no rate of this direction'
            when runs.rtt_ms is null then 'no round-trip time'
            when opposite.run_id is null then 'the other direction is not described'
            when opposite.queuing_delay_mean_ms is null then 'no packet of the other direction in the queue log'
        end as bdp_null_reason
    from measured
    inner join runs
        on
            measured.study_id = runs.study_id
            and measured.run_id = runs.run_id
    left join measured as opposite
        on
            measured.study_id = opposite.study_id
            and measured.run_id = opposite.run_id
            and measured.link_direction != opposite.link_direction
)

select * from final
