with

calls as (
    select * from {{ ref('stg_lake__call_flow') }}
),

flows as (
    select * from {{ ref('int_capture_flow') }}
),

rtp_streams as (
    select
        source_hash,
        flow_id,
        count(*) as streams
    from {{ ref('stg_lake__rtp_stream') }}
    group by source_hash, flow_id
),

final as (
    select
        flows.dataset,
        calls.source_hash,
        calls.flow_id,
        flows.recording_name,
        flows.protocol,
        {{ utc_date('flows.first_packet_ns') }} as start_date,
        flows.first_packet_ns,
        cast(flows.last_packet_ns - flows.first_packet_ns as double) / 1000000 as duration_ms,
        coalesce(rtp_streams.streams, 0) as rtp_streams,
        calls.media_path,
        cast(calls.media_setup_us as double) / 1000 as media_setup_ms,
        cast(calls.stun_setup_us as double) / 1000 as stun_setup_ms,
        calls.stun_rtt_samples,
        cast(calls.stun_rtt_min_us as double) / 1000 as stun_rtt_min_ms,
        calls.stun_rtt_avg_us / 1000 as stun_rtt_mean_ms,
        calls.stun_requests,
        calls.stun_successes,
        calls.stun_errors,
        calls.stun_indications,
        calls.classic_stun_messages,
        calls.turn_allocations,
        calls.turn_channel_packets,
        calls.turn_indication_packets,
        calls.zoom_server_packets,
        calls.zoom_peer_packets,
        calls.zoom_repair_packets,
        calls.dtls_packets,
        calls.dtls_outcome,
        calls.dtls_alert,
        cast(calls.dtls_handshake_us as double) / 1000 as dtls_handshake_ms,
        calls.rtcp_packets,
        calls.rtcp_cut_packets,
        calls.srtcp_packets,
        calls.rtcp_unplaced_reports,
        calls.rtcp_refused_reports
    from calls
    inner join flows
        on
            calls.source_hash = flows.source_hash
            and calls.flow_id = flows.flow_id
    left join rtp_streams
        on
            calls.source_hash = rtp_streams.source_hash
            and calls.flow_id = rtp_streams.flow_id
)

select * from final
