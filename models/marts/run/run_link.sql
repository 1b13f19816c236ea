with

runs as (
    select * from {{ ref('int_run_described') }}
),

links as (
    select * from {{ ref('int_run_link') }}
),

link_queues as (
    select * from {{ ref('int_run_link_queue') }}
),

queues as (
    select * from {{ ref('run_queue') }}
),

measured as (
    select
        links.*,
        link_queues.queue_number,
        queues.packets as link_packets,
        queues.mean_ms as queuing_delay_mean_ms
    from links
    left join link_queues
        on
            links.study_id = link_queues.study_id
            and links.run_id = link_queues.run_id
            and links.link_direction = link_queues.link_direction
    left join queues
        on
            link_queues.study_id = queues.study_id
            and link_queues.run_id = queues.run_id
            and link_queues.queue_number = queues.queue_number
),

final as (
    select
        measured.study_id,
        measured.run_id,
        measured.link_direction,
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
