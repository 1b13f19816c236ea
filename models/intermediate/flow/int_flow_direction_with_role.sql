with

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement in ('capture_before', 'capture_after')
),

data_senders as (
    select distinct
        study_id,
        run_id,
        sender_host_key
    from oriented_flows
    where
        is_data_direction
        and role != 'background'
),

flow_directions as (
    select
        source_hash,
        flow_id,
        'fwd' as direction,
        protocol,
        initiator_host_key as sender_host_key,
        initiator_port as sender_port,
        responder_host_key as receiver_host_key,
        responder_port as receiver_port,
        handshake_rtt_us,
        fwd_packets as packets,
        fwd_bytes as bytes,
        fwd_retransmitted_packets as retransmitted_packets,
        fwd_rtt_samples as rtt_samples,
        fwd_rtt_min_us as rtt_min_us,
        fwd_rtt_avg_us as rtt_avg_us,
        fwd_rtt_max_us as rtt_max_us,
        fwd_srtt_avg_us as srtt_avg_us
    from flows

    union all

    select
        source_hash,
        flow_id,
        'rev' as direction,
        protocol,
        responder_host_key as sender_host_key,
        responder_port as sender_port,
        initiator_host_key as receiver_host_key,
        initiator_port as receiver_port,
        handshake_rtt_us,
        rev_packets as packets,
        rev_bytes as bytes,
        rev_retransmitted_packets as retransmitted_packets,
        rev_rtt_samples as rtt_samples,
        rev_rtt_min_us as rtt_min_us,
        rev_rtt_avg_us as rtt_avg_us,
        rev_rtt_max_us as rtt_max_us,
        rev_srtt_avg_us as srtt_avg_us
    from flows
),

final as (
    select
        captures.study_id,
        captures.run_id,
        captures.measurement,
        flow_directions.source_hash,
        flow_directions.flow_id,
        flow_directions.direction,
        flow_directions.protocol,
        coalesce(oriented_flows.role, 'other') as role,
        -- For background and undeclared traffic, the data direction is that of packets from a host that sends the data of a declared flow.
        coalesce(
            case when oriented_flows.role != 'background' then oriented_flows.is_data_direction end,
            data_senders.sender_host_key is not null
        ) as is_data_direction,
        flow_directions.handshake_rtt_us,
        flow_directions.packets,
        flow_directions.bytes,
        flow_directions.retransmitted_packets,
        flow_directions.rtt_samples,
        flow_directions.rtt_min_us,
        flow_directions.rtt_avg_us,
        flow_directions.rtt_max_us,
        flow_directions.srtt_avg_us
    from flow_directions
    inner join captures
        on flow_directions.source_hash = captures.measurement_hash
    left join oriented_flows
        on
            captures.study_id = oriented_flows.study_id
            and captures.run_id = oriented_flows.run_id
            and flow_directions.protocol = oriented_flows.protocol
            and flow_directions.sender_host_key = oriented_flows.sender_host_key
            and flow_directions.sender_port = oriented_flows.sender_port
            and flow_directions.receiver_host_key = oriented_flows.receiver_host_key
            and flow_directions.receiver_port = oriented_flows.receiver_port
    left join data_senders
        on
            captures.study_id = data_senders.study_id
            and captures.run_id = data_senders.run_id
            and flow_directions.sender_host_key = data_senders.sender_host_key
)

select * from final
