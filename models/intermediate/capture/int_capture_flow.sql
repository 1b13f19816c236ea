with

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

responder_services as (
    select * from {{ ref('well_known_service') }}
),

initiator_services as (
    select * from {{ ref('well_known_service') }}
),

-- The first packet of a recording may be a reply. Unless a SYN shows which end started, use the initiator's port if the responder's has no
-- known service.
in_recordings as (
    select
        flows.*,
        recordings.dataset,
        recordings.recording_name,
        recordings.study_id,
        recordings.run_id,
        recordings.is_loose,
        coalesce(responder_services.service, initiator_services.service, 'other') as service,
        cast(floor(flows.fwd_srtt_min_us) as bigint) as responder_rtt_min_us,
        cast(floor(flows.fwd_srtt_max_us) as bigint) as responder_rtt_max_us,
        cast(floor(flows.rev_srtt_min_us) as bigint) as initiator_rtt_min_us,
        cast(floor(flows.rev_srtt_max_us) as bigint) as initiator_rtt_max_us
    from flows
    inner join recordings on flows.source_hash = recordings.source_hash
    left join responder_services
        on
            flows.protocol = responder_services.protocol
            and flows.responder_port = responder_services.port
    left join initiator_services
        on
            flows.protocol = initiator_services.protocol
            and flows.initiator_port = initiator_services.port
            and coalesce(flows.starts_in_mid_flow, true)
),

judged as (
    select
        *,
        case
            when protocol = 'tcp'
                then {{ connection_outcome('responder_rtt_min_us', 'responder_rtt_max_us', "'rtt_samples'", 'fwd_rtt_samples') }}
        end as responder_outcome,
        case
            when protocol = 'tcp'
                then {{ connection_outcome('initiator_rtt_min_us', 'initiator_rtt_max_us', "'rtt_samples'", 'rev_rtt_samples') }}
        end as initiator_outcome
    from in_recordings
),

final as (
    select
        dataset,
        source_hash,
        decoder_version,
        flow_id,
        recording_name,
        study_id,
        run_id,
        is_loose,
        ip_version,
        protocol,
        service,
        initiator_host_key,
        responder_host_key,
        responder_port,
        tunnel,
        end_reason,
        starts_in_mid_flow,
        first_packet_ns,
        last_packet_ns,
        handshake_rtt_us,
        server_name,
        server_name_source,
        client_hello_outcome,
        is_client_hello_encrypted,
        tls_version_offered,
        quic_version,
        application_protocols_offered,
        fwd_packets,
        fwd_bytes,
        fwd_payload_bytes,
        fwd_retransmitted_packets,
        fwd_out_of_order_packets,
        fwd_ecn_ce_packets,
        fwd_ecn_ece_packets,
        rev_packets,
        rev_bytes,
        rev_payload_bytes,
        rev_retransmitted_packets,
        rev_out_of_order_packets,
        rev_ecn_ce_packets,
        rev_ecn_ece_packets,
        fwd_rtt_samples as responder_rtt_samples,
        fwd_rtt_min_us as responder_raw_rtt_min_us,
        fwd_rtt_max_us as responder_raw_rtt_max_us,
        fwd_srtt_avg_us as responder_rtt_avg_us,
        responder_rtt_min_us,
        responder_rtt_max_us,
        responder_outcome,
        case when responder_outcome = 'counted' then responder_rtt_max_us - responder_rtt_min_us end as responder_queuing_delay_us,
        rev_rtt_samples as initiator_rtt_samples,
        rev_rtt_min_us as initiator_raw_rtt_min_us,
        rev_rtt_max_us as initiator_raw_rtt_max_us,
        rev_srtt_avg_us as initiator_rtt_avg_us,
        initiator_rtt_min_us,
        initiator_rtt_max_us,
        initiator_outcome,
        case when initiator_outcome = 'counted' then initiator_rtt_max_us - initiator_rtt_min_us end as initiator_queuing_delay_us
    from judged
)

select * from final
