with

source as (
    select * from {{ source('lake', 'rtcp_report') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        reporter_ssrc,
        ssrc,
        first_report_ns,
        last_report_ns,
        reports,
        loss_mean_ratio,
        loss_max_ratio,
        lost_packets,
        jitter_mean_units,
        jitter_max_units,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us
    from source
)

select * from final
