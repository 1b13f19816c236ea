with

rtp_streams as (
    select * from {{ ref('stg_lake__rtp_stream') }}
),

reports as (
    select * from {{ ref('int_capture_rtp_report') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

final as (
    select
        recordings.dataset,
        rtp_streams.source_hash,
        rtp_streams.flow_id,
        rtp_streams.direction,
        rtp_streams.ssrc,
        recordings.recording_name,
        rtp_streams.payload_type,
        rtp_streams.recognised_by,
        rtp_streams.encapsulation,
        rtp_streams.media_type,
        rtp_streams.clock_rate_hz,
        {{ utc_date('rtp_streams.first_packet_ns') }} as start_date,
        rtp_streams.first_packet_ns,
        cast(rtp_streams.last_packet_ns - rtp_streams.first_packet_ns as double) / 1000000 as duration_ms,
        rtp_streams.packets,
        rtp_streams.expected_packets,
        rtp_streams.lost_packets,
        cast(rtp_streams.lost_packets as double) / nullif(rtp_streams.expected_packets, 0) as loss_ratio,
        rtp_streams.reordered_packets,
        rtp_streams.duplicate_packets,
        rtp_streams.jitter_mean_ms,
        rtp_streams.jitter_max_ms,
        rtp_streams.frames,
        rtp_streams.frame_rate_fps,
        rtp_streams.rate_bps,
        coalesce(reports.reports, 0) as rtcp_reports,
        reports.loss_mean_ratio as reported_loss_ratio,
        reports.loss_max_ratio as reported_loss_max_ratio,
        reports.jitter_mean_ms as reported_jitter_ms,
        coalesce(reports.rtt_samples, 0) as rtcp_rtt_samples,
        reports.rtt_mean_ms as rtcp_rtt_mean_ms,
        recordings.is_repeated
    from rtp_streams
    inner join recordings on rtp_streams.source_hash = recordings.source_hash
    left join reports
        on
            rtp_streams.source_hash = reports.source_hash
            and rtp_streams.flow_id = reports.flow_id
            and rtp_streams.direction = reports.direction
            and rtp_streams.ssrc = reports.ssrc
)

select * from final
