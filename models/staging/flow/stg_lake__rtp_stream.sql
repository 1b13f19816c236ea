with

source as (
    select * from {{ source('lake', 'rtp_stream') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        ssrc,
        payload_type,
        encapsulation,
        media_type,
        clock_rate_hz,
        clock_basis,
        first_packet_ns,
        last_packet_ns,
        packets,
        payload_bytes,
        expected_packets,
        lost_packets,
        reordered_packets,
        duplicate_packets,
        jitter_ms,
        jitter_mean_ms,
        jitter_max_ms,
        frames,
        frame_rate_fps,
        rate_bps,
        recognised_by
    from source
)

select * from final
