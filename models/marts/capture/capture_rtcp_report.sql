with

reports as (
    select * from {{ ref('stg_lake__rtcp_report') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

final as (
    select
        recordings.dataset,
        reports.source_hash,
        reports.flow_id,
        reports.direction,
        reports.reporter_ssrc,
        reports.ssrc,
        recordings.recording_name,
        {{ utc_date('reports.first_report_ns') }} as start_date,
        reports.first_report_ns,
        cast(reports.last_report_ns - reports.first_report_ns as double) / 1000000 as duration_ms,
        reports.reports as rtcp_reports,
        reports.loss_mean_ratio,
        reports.loss_max_ratio,
        reports.lost_packets,
        reports.jitter_mean_units,
        reports.jitter_max_units,
        reports.rtt_samples as rtcp_rtt_samples,
        cast(reports.rtt_min_us as double) / 1000 as rtcp_rtt_min_ms,
        reports.rtt_avg_us / 1000 as rtcp_rtt_mean_ms,
        cast(reports.rtt_max_us as double) / 1000 as rtcp_rtt_max_ms
    from reports
    inner join recordings on reports.source_hash = recordings.source_hash
)

select * from final
