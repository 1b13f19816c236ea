with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

flow_pairs as (
    select * from {{ ref('stg_lake__flow_pair') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

flows_with_role as (
    select
        pairs.study_id,
        pairs.run_id,
        case when oriented_flows.role in {{ competing_roles() }} then oriented_flows.role else 'other' end as role,
        flow_pairs.sent_packets,
        flow_pairs.delivered_packets,
        flow_pairs.dropped_packets,
        flow_pairs.in_flight_at_end_packets,
        flow_pairs.not_seen_before_packets,
        flow_pairs.queuing_delay_min_us,
        flow_pairs.queuing_delay_max_us,
        -- Whole microseconds, because their sum does not depend on the order.
        cast(round(flow_pairs.queuing_delay_avg_us * flow_pairs.delivered_packets) as bigint) as queuing_delay_sum_us
    from flow_pairs
    inner join pairs
        on flow_pairs.source_hash = pairs.source_hash
    left join oriented_flows
        on
            pairs.study_id = oriented_flows.study_id
            and pairs.run_id = oriented_flows.run_id
            and flow_pairs.protocol = oriented_flows.protocol
            and flow_pairs.source_host_key = oriented_flows.sender_host_key
            and flow_pairs.source_port = oriented_flows.sender_port
            and flow_pairs.destination_host_key = oriented_flows.receiver_host_key
            and flow_pairs.destination_port = oriented_flows.receiver_port
),

role_and_all_flows as (
    select * from flows_with_role

    union all

    select
        study_id,
        run_id,
        'all' as role,
        sent_packets,
        delivered_packets,
        dropped_packets,
        in_flight_at_end_packets,
        not_seen_before_packets,
        queuing_delay_min_us,
        queuing_delay_max_us,
        queuing_delay_sum_us
    from flows_with_role
),

summed as (
    select
        study_id,
        run_id,
        role,
        count(*) as flows,
        cast(sum(sent_packets) as bigint) as sent_packets,
        cast(sum(delivered_packets) as bigint) as delivered_packets,
        cast(sum(dropped_packets) as bigint) as dropped_packets,
        cast(sum(in_flight_at_end_packets) as bigint) as in_flight_at_end_packets,
        cast(sum(not_seen_before_packets) as bigint) as not_seen_before_packets,
        min(queuing_delay_min_us) as queuing_delay_min_us,
        max(queuing_delay_max_us) as queuing_delay_max_us,
        cast(sum(queuing_delay_sum_us) as bigint) as queuing_delay_sum_us
    from role_and_all_flows
    group by study_id, run_id, role
),

final as (
    select
        summed.study_id,
        summed.run_id,
        summed.role,
        summed.flows,
        summed.sent_packets,
        summed.delivered_packets,
        summed.dropped_packets,
        summed.in_flight_at_end_packets,
        summed.not_seen_before_packets,
        cast(summed.dropped_packets as double) / nullif(summed.delivered_packets + summed.dropped_packets, 0) as loss_ratio,
        cast(summed.queuing_delay_min_us as double) / 1000 as one_way_queuing_delay_min_ms,
        cast(summed.queuing_delay_sum_us as double) / nullif(summed.delivered_packets, 0) / 1000 as one_way_queuing_delay_mean_ms,
        cast(summed.queuing_delay_max_us as double) / 1000 as one_way_queuing_delay_max_ms,
        reconciliations.reconciliation_verdict
    from summed
    left join reconciliations
        on
            summed.study_id = reconciliations.study_id
            and summed.run_id = reconciliations.run_id
)

select * from final
