with

source as (
    select * from {{ source('lake', 'flow') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        ip_version,
        protocol,
        initiator_host_key,
        initiator_prefix_key,
        initiator_port,
        responder_host_key,
        responder_prefix_key,
        responder_port,
        first_packet_ns,
        last_packet_ns,
        handshake_rtt_us,
        fwd_packets,
        fwd_bytes,
        fwd_payload_bytes,
        fwd_tcp_flags,
        fwd_retransmitted_packets,
        fwd_out_of_order_packets,
        fwd_zero_windows,
        fwd_ecn_ce_packets,
        fwd_rtt_samples,
        fwd_rtt_min_us,
        fwd_rtt_avg_us,
        fwd_rtt_max_us,
        fwd_srtt_min_us,
        fwd_srtt_avg_us,
        fwd_srtt_max_us,
        rev_packets,
        rev_bytes,
        rev_payload_bytes,
        rev_tcp_flags,
        rev_retransmitted_packets,
        rev_out_of_order_packets,
        rev_zero_windows,
        rev_ecn_ce_packets,
        rev_rtt_samples,
        rev_rtt_min_us,
        rev_rtt_avg_us,
        rev_rtt_max_us,
        rev_srtt_min_us,
        rev_srtt_avg_us,
        rev_srtt_max_us
    from source
)

select * from final
