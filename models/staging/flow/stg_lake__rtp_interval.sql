with

source as (
    select * from {{ source('lake', 'rtp_interval') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        ssrc,
        interval_start_ns,
        interval_ms,
        packets,
        payload_bytes,
        frames,
        expected_packets,
        lost_packets,
        jitter_ms
    from source
)

select * from final
