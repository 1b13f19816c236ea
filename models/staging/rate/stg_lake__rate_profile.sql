with

source as (
    select * from {{ source('lake', 'rate_profile') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        profile_number,
        second,
        rate_bps,
        workload,
        rtt_ms,
        bandwidth_bps,
        bandwidth_programme,
        aqm,
        queue_size_bytes,
        congestion_control,
        application
    from source
)

select * from final
