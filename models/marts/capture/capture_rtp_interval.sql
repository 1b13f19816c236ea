with

rtp_intervals as (
    select * from {{ ref('stg_lake__rtp_interval') }}
),

rtp_streams as (
    select * from {{ ref('stg_lake__rtp_stream') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

final as (
    select
        recordings.dataset,
        rtp_intervals.source_hash,
        rtp_intervals.flow_id,
        rtp_intervals.direction,
        rtp_intervals.ssrc,
        greatest({{ integer_divide('rtp_intervals.interval_start_ns', 1000000000) }} - totals.first_second, 0) as second,
        recordings.recording_name,
        rtp_streams.encapsulation,
        rtp_streams.media_type,
        rtp_intervals.interval_ms as rtp_interval_ms,
        rtp_intervals.packets,
        rtp_intervals.expected_packets,
        rtp_intervals.lost_packets,
        cast(rtp_intervals.frames as double) * 1000 / rtp_intervals.interval_ms as frame_rate_fps,
        cast(rtp_intervals.payload_bytes as double) * 8000 / rtp_intervals.interval_ms as rate_bps,
        rtp_intervals.jitter_ms as jitter_end_ms
    from rtp_intervals
    inner join recordings on rtp_intervals.source_hash = recordings.source_hash
    inner join totals on rtp_intervals.source_hash = totals.source_hash
    inner join rtp_streams
        on
            rtp_intervals.source_hash = rtp_streams.source_hash
            and rtp_intervals.flow_id = rtp_streams.flow_id
            and rtp_intervals.direction = rtp_streams.direction
            and rtp_intervals.ssrc = rtp_streams.ssrc
)

select * from final
