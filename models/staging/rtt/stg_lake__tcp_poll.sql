with

source as (
    select * from {{ source('lake', 'tcp_poll') }}
),

final as (
    select
        source_hash,
        decoder_version,
        poll_index,
        socket_index,
        poll_start_ns,
        poll_end_ns,
        state,
        local_host_key,
        local_prefix_key,
        local_port,
        peer_host_key,
        peer_prefix_key,
        peer_port,
        congestion_control,
        srtt_us,
        rttvar_us,
        min_rtt_us,
        rto_us,
        mss_bytes,
        cwnd_packets,
        ssthresh_packets,
        sent_bytes,
        retransmitted_bytes,
        acked_bytes,
        received_bytes,
        unacked_packets,
        retransmitted_packets,
        lost_packets,
        pacing_rate_bps,
        delivery_rate_bps,
        app_limited
    from source
)

select * from final
