with

intervals as (
    select * from {{ ref('int_call_interval') }}
),

calls as (
    select * from {{ ref('int_call') }}
),

figures as (
    select
        source_hash,
        peer_connection,
        direction,
        coalesce(media_kind, 'unknown') as media_kind,
        count(distinct ssrc) as streams,
        {{ call_figures() }}
    from intervals
    group by
        source_hash,
        peer_connection,
        direction,
        coalesce(media_kind, 'unknown')
),

final as (
    select
        figures.source_hash,
        figures.peer_connection,
        figures.direction,
        figures.media_kind,
        calls.study_id,
        calls.run_id,
        figures.streams,
        figures.duration_ms,
        figures.packets,
        figures.lost_packets,
        figures.rate_bps,
        figures.lost_ratio,
        figures.frame_rate_hz,
        figures.frame_width_mean,
        figures.frame_height_mean,
        figures.qp_mean,
        figures.nack_count,
        figures.pli_count,
        figures.fir_count,
        figures.jitter_mean_ms,
        figures.rtt_mean_ms,
        figures.jitter_buffer_mean_ms,
        figures.freezes,
        figures.frozen_ms,
        figures.freeze_ratio,
        figures.concealed_ratio,
        figures.bandwidth_limited_ms,
        figures.cpu_limited_ms
    from figures
    inner join calls
        on figures.source_hash = calls.source_hash
)

select * from final
