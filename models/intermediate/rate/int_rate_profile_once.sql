-- Profiles have no run id. If two files contain the same run (half a study, and later all of it), the run is recognised by its rates.
with

profiles as (
    select * from {{ ref('stg_lake__rate_profile') }}
),

-- Within a file, each profile is a separate run. Equal profiles in different files are the same run.
signatures as (
    select
        source_hash,
        profile_number,
        study_id,
        application,
        workload,
        aqm,
        rtt_ms,
        count(*) as seconds,
        sum(cast(rate_bps as bigint)) as rate_sum,
        sum(cast(rate_bps as bigint) * (second + 1)) as weighted_rate_sum
    from profiles
    group by source_hash, profile_number, study_id, application, workload, aqm, rtt_ms
),

first_sources as (
    select
        study_id,
        application,
        workload,
        aqm,
        rtt_ms,
        seconds,
        rate_sum,
        weighted_rate_sum,
        min(source_hash) as source_hash
    from signatures
    group by study_id, application, workload, aqm, rtt_ms, seconds, rate_sum, weighted_rate_sum
),

kept as (
    select
        signatures.source_hash,
        signatures.profile_number
    from signatures
    inner join first_sources
        on
            signatures.source_hash = first_sources.source_hash
            and signatures.study_id = first_sources.study_id
            and signatures.workload = first_sources.workload
            and signatures.aqm = first_sources.aqm
            and signatures.rtt_ms = first_sources.rtt_ms
            and coalesce(signatures.application, '') = coalesce(first_sources.application, '')
            and signatures.seconds = first_sources.seconds
            and signatures.rate_sum = first_sources.rate_sum
            and signatures.weighted_rate_sum = first_sources.weighted_rate_sum
),

final as (
    select
        profiles.source_hash,
        profiles.profile_number,
        profiles.second,
        profiles.study_id,
        profiles.rate_bps,
        profiles.workload,
        profiles.rtt_ms,
        profiles.bandwidth_bps,
        profiles.bandwidth_programme,
        profiles.aqm,
        profiles.queue_size_bytes,
        profiles.congestion_control,
        profiles.application
    from profiles
    inner join kept
        on
            profiles.source_hash = kept.source_hash
            and profiles.profile_number = kept.profile_number
)

select * from final
