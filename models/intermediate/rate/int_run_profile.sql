-- One profile is one role of one run, from one source of rates. Its rates are in int_run_profile_second.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

capture_seconds as (
    select * from {{ ref('int_capture_second') }}
),

published as (
    select * from {{ ref('int_rate_profile_once') }}
),

queue_disciplines as (
    select * from {{ ref('queue_discipline') }}
),

captured as (
    select distinct
        study_id,
        run_id,
        measurement,
        role
    from capture_seconds
),

tabled as (
    select distinct
        study_id,
        source_hash,
        profile_number,
        workload,
        bandwidth_bps,
        bandwidth_programme,
        rtt_ms,
        aqm,
        queue_size_bytes,
        congestion_control,
        application
    from published
),

final as (
    select
        {{ id_part('captured.study_id') }} || '/' || {{ id_part('captured.run_id') }} || '/' || captured.measurement
        || '/' || captured.role as profile_id,
        captured.study_id,
        captured.run_id,
        captured.measurement as rate_basis,
        captured.role,
        runs.workload,
        runs.direction,
        runs.bandwidth_bps,
        runs.bandwidth_programme,
        runs.rtt_ms,
        runs.aqm,
        runs.queue_size_bdp,
        runs.queue_size_bytes,
        runs.queue_limit_packets,
        runs.queue_label,
        runs.congestion_control,
        runs.application,
        runs.rival_application,
        runs.start_order,
        runs.testbed,
        runs.queue_scheme,
        runs.congested_direction,
        runs.opposite_link,
        runs.participants,
        runs.call_view,
        runs.ecn,
        runs.l4s,
        runs.exclusion_reason
    from captured
    inner join runs
        on
            captured.study_id = runs.study_id
            and captured.run_id = runs.run_id

    union all

    select
        {{ id_part('tabled.study_id') }} || '/' || tabled.source_hash || '/' || {{ plain_text('tabled.profile_number') }} as profile_id,
        tabled.study_id,
        cast(null as string) as run_id,
        'study_table' as rate_basis,
        case when tabled.application is null then 'tcp' else 'app' end as role,
        tabled.workload,
        cast(null as string) as direction,
        tabled.bandwidth_bps,
        tabled.bandwidth_programme,
        tabled.rtt_ms,
        tabled.aqm,
        cast(tabled.queue_size_bytes as double) * 8000 / nullif(tabled.bandwidth_bps * tabled.rtt_ms, 0) as queue_size_bdp,
        tabled.queue_size_bytes,
        cast(null as bigint) as queue_limit_packets,
        coalesce(queue_disciplines.label, tabled.aqm) as queue_label,
        tabled.congestion_control,
        tabled.application,
        cast(null as string) as rival_application,
        cast(null as string) as start_order,
        cast(null as string) as testbed,
        cast(null as string) as queue_scheme,
        cast(null as string) as congested_direction,
        cast(null as string) as opposite_link,
        cast(null as int) as participants,
        cast(null as string) as call_view,
        cast(null as string) as ecn,
        cast(null as string) as l4s,
        cast(null as string) as exclusion_reason
    from tabled
    left join queue_disciplines
        on tabled.aqm = queue_disciplines.aqm
)

select * from final
