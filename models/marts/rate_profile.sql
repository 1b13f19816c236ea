with

profiles as (
    select * from {{ ref('int_rate_profile_once') }}
),

named as (
    select
        study_id
        || '/' || coalesce(application, 'tcp')
        || '/workload=' || workload
        || '/bandwidth_bps=' || coalesce({{ plain_text('bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || {{ plain_text('rtt_ms') }}
        || '/aqm=' || aqm
        || '/queue_size_bytes=' || coalesce({{ plain_text('queue_size_bytes') }}, 'none')
        || '/congestion_control=' || coalesce(congestion_control, 'none') as rate_profile_id,
        study_id,
        workload,
        application,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bytes,
        congestion_control,
        second,
        rate_bps
    from profiles
),

final as (
    select
        rate_profile_id,
        second,
        study_id,
        workload,
        application,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bytes,
        congestion_control,
        count(*) as runs,
        median(rate_bps) as rate_median_bps,
        percentile_cont(0.25) within group (order by rate_bps) as rate_q1_bps,
        percentile_cont(0.75) within group (order by rate_bps) as rate_q3_bps
    from named
    group by
        rate_profile_id,
        second,
        study_id,
        workload,
        application,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bytes,
        congestion_control
)

select * from final
