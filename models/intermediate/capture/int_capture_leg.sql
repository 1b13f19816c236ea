-- The data that each end sends is acknowledged by the other end, which gives two RTTs: one for each of the two paths that meet at the
-- capture point.
with

flows as (
    select * from {{ ref('int_capture_flow') }}
    where protocol = 'tcp'
),

legs as (
    select 'responder' as leg

    union all

    select 'initiator' as leg
),

final as (
    select
        flows.dataset,
        flows.source_hash,
        flows.decoder_version,
        flows.flow_id,
        legs.leg,
        flows.is_loose,
        flows.service,
        flows.server_name,
        flows.initiator_host_key as client_host_key,
        flows.ip_version,
        flows.first_packet_ns as start_ns,
        case legs.leg when 'responder' then flows.responder_host_key else flows.initiator_host_key end as host_key,
        case legs.leg when 'responder' then flows.fwd_payload_bytes else flows.rev_payload_bytes end as sent_bytes,
        case legs.leg when 'responder' then flows.responder_rtt_samples else flows.initiator_rtt_samples end as rtt_samples,
        case legs.leg when 'responder' then flows.responder_rtt_min_us else flows.initiator_rtt_min_us end as rtt_min_us,
        case legs.leg when 'responder' then flows.responder_rtt_avg_us else flows.initiator_rtt_avg_us end as rtt_avg_us,
        case legs.leg when 'responder' then flows.responder_rtt_max_us else flows.initiator_rtt_max_us end as rtt_max_us,
        case legs.leg when 'responder' then flows.responder_queuing_delay_us else flows.initiator_queuing_delay_us end as queuing_delay_us,
        case legs.leg when 'responder' then flows.handshake_rtt_us end as handshake_rtt_us
    from flows
    cross join legs
)

select * from final
