with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

final as (
    select
        dataset,
        source_hash,
        flow_id,
        recording_name,
        study_id,
        run_id,
        cast(ip_version as string) as ip_version,
        protocol,
        responder_port,
        service,
        server_name,
        server_name_source,
        client_hello_outcome,
        is_client_hello_encrypted,
        tls_version_offered,
        quic_version,
        application_protocols_offered,
        tunnel,
        {{ utc_date('first_packet_ns') }} as start_date,
        first_packet_ns,
        cast(last_packet_ns - first_packet_ns as double) / 1000000 as duration_ms,
        starts_in_mid_flow,
        end_reason,
        fwd_packets,
        fwd_bytes,
        fwd_payload_bytes,
        rev_packets,
        rev_bytes,
        rev_payload_bytes,
        cast(handshake_rtt_us as double) / 1000 as handshake_rtt_ms,
        {%- for leg in ('initiator', 'responder') %}
            {{ leg }}_rtt_samples,
            cast({{ leg }}_raw_rtt_min_us as double) / 1000 as {{ leg }}_rtt_min_ms,
            cast({{ leg }}_raw_rtt_max_us as double) / 1000 as {{ leg }}_rtt_max_ms,
            {{ leg }}_rtt_avg_us / 1000 as {{ leg }}_smoothed_rtt_ms,
            cast({{ leg }}_queuing_delay_us as double) / 1000 as {{ leg }}_queuing_delay_ms,
            {{ leg }}_outcome,
        {%- endfor %}
        cast(fwd_retransmitted_packets as double) / nullif(fwd_packets, 0) as fwd_retransmitted_ratio,
        cast(rev_retransmitted_packets as double) / nullif(rev_packets, 0) as rev_retransmitted_ratio,
        cast(fwd_out_of_order_packets as double) / nullif(fwd_packets, 0) as fwd_out_of_order_ratio,
        cast(rev_out_of_order_packets as double) / nullif(rev_packets, 0) as rev_out_of_order_ratio,
        fwd_ecn_ce_packets,
        rev_ecn_ce_packets,
        fwd_ecn_ece_packets,
        rev_ecn_ece_packets
    from flows
)

select * from final
