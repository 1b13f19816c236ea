-- RTP streams of a run's application, and how to recognise their packets among those of their flow.
with

rtp_streams as (
    select * from {{ ref('stg_lake__rtp_stream') }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
),

of_application as (
    select
        flow_directions.study_id,
        flow_directions.run_id,
        flow_directions.measurement,
        rtp_streams.ssrc,
        rtp_streams.payload_type,
        rtp_streams.packets,
        rtp_streams.flow_id,
        rtp_streams.expected_packets,
        rtp_streams.lost_packets,
        case when rtp_streams.direction = 'fwd' then flows.initiator_host_key else flows.responder_host_key end as sender_host_key,
        case when rtp_streams.direction = 'fwd' then flows.initiator_port else flows.responder_port end as sender_port,
        case when rtp_streams.direction = 'fwd' then flows.responder_host_key else flows.initiator_host_key end as receiver_host_key,
        case when rtp_streams.direction = 'fwd' then flows.responder_port else flows.initiator_port end as receiver_port
    from rtp_streams
    inner join flow_directions
        on
            rtp_streams.source_hash = flow_directions.source_hash
            and rtp_streams.flow_id = flow_directions.flow_id
            and rtp_streams.direction = flow_directions.direction
    inner join flows
        on
            rtp_streams.source_hash = flows.source_hash
            and rtp_streams.flow_id = flows.flow_id
    where
        flow_directions.role = 'app'
        and flow_directions.is_data_direction
),

-- Prefer the capture after the bottleneck, which shows what was received. If an SSRC is on several 5-tuples, take the one with most
-- packets.
ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, ssrc
            order by
                case when measurement = 'capture_after' then 0 else 1 end,
                packets desc,
                flow_id asc
        ) as preference
    from of_application
),

counted as (
    select
        *,
        count(*) over (
            partition by study_id, run_id, sender_host_key, sender_port, receiver_host_key, receiver_port
        ) as streams_of_flow,
        count(*) over (
            partition by study_id, run_id, sender_host_key, sender_port, receiver_host_key, receiver_port, payload_type
        ) as streams_of_payload_type
    from ranked
    where preference = 1
),

final as (
    select
        study_id,
        run_id,
        ssrc,
        payload_type,
        measurement as rtp_measurement,
        expected_packets,
        lost_packets,
        sender_host_key,
        sender_port,
        receiver_host_key,
        receiver_port,
        case
            when streams_of_flow = 1 then 'flow'
            when streams_of_payload_type = 1 then 'payload_type'
            else 'none'
        end as told_by
    from counted
)

select * from final
