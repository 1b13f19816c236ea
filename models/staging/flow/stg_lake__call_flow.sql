with

source as (
    select * from {{ source('lake', 'call_flow') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        media_path,
        stun_requests,
        stun_successes,
        stun_errors,
        stun_indications,
        classic_stun_messages,
        stun_setup_us,
        stun_rtt_samples,
        stun_rtt_min_us,
        stun_rtt_avg_us,
        media_setup_us,
        turn_allocations,
        turn_channel_packets,
        turn_indication_packets,
        zoom_server_packets,
        zoom_peer_packets,
        zoom_repair_packets,
        dtls_packets,
        dtls_outcome,
        dtls_alert,
        dtls_handshake_us,
        rtcp_packets,
        rtcp_cut_packets,
        srtcp_packets,
        rtcp_unplaced_reports,
        rtcp_refused_reports
    from source
)

select * from final
