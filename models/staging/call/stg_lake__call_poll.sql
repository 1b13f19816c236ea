with

source as (
    select * from {{ source('lake', 'call_poll') }}
),

final as (
    select
        source_hash,
        decoder_version,
        poll_index,
        peer_connection,
        ssrc,
        direction,
        stream_number,
        media_kind,
        stats_format,
        poll_ns,
        packets,
        payload_bytes,
        lost_packets,
        frames,
        frame_width,
        frame_height,
        qp_sum,
        nack_count,
        pli_count,
        fir_count,
        jitter_ms,
        jitter_buffer_delay_ms,
        jitter_buffer_emitted,
        rtt_ms,
        freeze_count,
        freezes_duration_ms,
        concealed_samples,
        received_samples,
        limited_by,
        bandwidth_limited_ms,
        cpu_limited_ms
    from source
)

select * from final
