-- Queuing delay in the direction opposite to the bottleneck. Packets of the application, such as requests and acknowledgements, are used if
-- there are any, because a discipline with a queue per flow delays other flows differently. If there are none, all packets are used.
with

link_queues as (
    select * from {{ ref('int_run_link_queue') }}
    where not is_bottleneck
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

packets as (
    select * from {{ ref('stg_lake__queue_packet') }}
    where
        fate = 'dequeued'
        and sojourn_ns is not null
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
    where role = 'app'
),

runs as (
    select * from {{ ref('int_run_described') }}
),

waited as (
    select
        link_queues.study_id,
        link_queues.run_id,
        packets.sojourn_ns,
        oriented_flows.run_id is not null as is_of_application
    from packets
    inner join link_queues
        on
            packets.source_hash = link_queues.source_hash
            and packets.queue_number = link_queues.queue_number
    inner join queue_logs
        on
            link_queues.study_id = queue_logs.study_id
            and link_queues.run_id = queue_logs.run_id
            and link_queues.source_hash = queue_logs.source_hash
    inner join runs
        on
            link_queues.study_id = runs.study_id
            and link_queues.run_id = runs.run_id
    left join oriented_flows
        on
            link_queues.study_id = oriented_flows.study_id
            and link_queues.run_id = oriented_flows.run_id
            and packets.protocol = oriented_flows.protocol
            and packets.source_host_key = oriented_flows.sender_host_key
            and packets.source_port = oriented_flows.sender_port
            and packets.destination_host_key = oriented_flows.receiver_host_key
            and packets.destination_port = oriented_flows.receiver_port
    where
        packets.dequeue_ns + queue_logs.utc_offset_ns >= runs.window_start_ns
        and packets.dequeue_ns + queue_logs.utc_offset_ns < runs.window_end_ns
),

final as (
    select
        study_id,
        run_id,
        case when max(case when is_of_application then 1 else 0 end) = 1 then 'application_packets' else 'all_packets' end
            as opposite_delay_basis,
        cast(coalesce(sum(case when is_of_application then sojourn_ns end), sum(sojourn_ns)) as double)
        / coalesce(nullif(count(case when is_of_application then 1 end), 0), count(*))
        / 1000000 as opposite_queuing_delay_mean_ms
    from waited
    group by study_id, run_id
)

select * from final
