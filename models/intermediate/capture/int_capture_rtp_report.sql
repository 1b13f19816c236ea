-- Receivers' reports on each RTP stream. Reports in the stream's own flow take precedence. If there are none, as when RTCP has its own
-- port, reports on the same SSRC anywhere in the recording count, provided that the recording has only one stream with that SSRC.
with

reports as (
    select * from {{ ref('stg_lake__rtcp_report') }}
),

rtp_streams as (
    select * from {{ ref('stg_lake__rtp_stream') }}
),

lone_streams as (
    select
        source_hash,
        ssrc
    from rtp_streams
    group by source_hash, ssrc
    having count(*) = 1
),

matched as (
    select
        rtp_streams.source_hash,
        rtp_streams.flow_id,
        rtp_streams.direction,
        rtp_streams.ssrc,
        rtp_streams.clock_rate_hz,
        reports.reports,
        reports.loss_mean_ratio,
        reports.loss_max_ratio,
        reports.jitter_mean_units,
        reports.rtt_samples,
        reports.rtt_avg_us,
        true as is_same_flow
    from rtp_streams
    inner join reports
        on
            rtp_streams.source_hash = reports.source_hash
            and rtp_streams.ssrc = reports.ssrc
            and rtp_streams.flow_id = reports.flow_id
            and rtp_streams.direction != reports.direction

    union all

    select
        rtp_streams.source_hash,
        rtp_streams.flow_id,
        rtp_streams.direction,
        rtp_streams.ssrc,
        rtp_streams.clock_rate_hz,
        reports.reports,
        reports.loss_mean_ratio,
        reports.loss_max_ratio,
        reports.jitter_mean_units,
        reports.rtt_samples,
        reports.rtt_avg_us,
        false as is_same_flow
    from rtp_streams
    inner join lone_streams
        on
            rtp_streams.source_hash = lone_streams.source_hash
            and rtp_streams.ssrc = lone_streams.ssrc
    inner join reports
        on
            rtp_streams.source_hash = reports.source_hash
            and rtp_streams.ssrc = reports.ssrc
            and rtp_streams.flow_id != reports.flow_id
),

chosen as (
    select
        *,
        max(case when is_same_flow then 1 else 0 end) over (
            partition by source_hash, flow_id, direction, ssrc
        ) as has_same_flow
    from matched
),

final as (
    select
        source_hash,
        flow_id,
        direction,
        ssrc,
        cast(sum(reports) as bigint) as reports,
        {{ ordered_sum('loss_mean_ratio * reports') }} / sum(reports) as loss_mean_ratio,
        max(loss_max_ratio) as loss_max_ratio,
        {{ ordered_sum('jitter_mean_units * reports') }} / sum(reports) * 1000 / max(clock_rate_hz) as jitter_mean_ms,
        cast(sum(rtt_samples) as bigint) as rtt_samples,
        {{ ordered_sum('rtt_avg_us * rtt_samples') }} / nullif(sum(rtt_samples), 0) / 1000 as rtt_mean_ms
    from chosen
    where is_same_flow or has_same_flow = 0
    group by source_hash, flow_id, direction, ssrc
)

select * from final
