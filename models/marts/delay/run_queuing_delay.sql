with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

usable_logs as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement = 'queue_log'
),

queue_logs as (
    select * from {{ ref('stg_lake__queue_log') }}
),

study_measurements as (
    select * from {{ ref('stg_lake__run_measurement') }}
),

role_packets as (
    select
        study_id,
        run_id,
        role,
        sojourn_ns
    from packets
    where
        fate = 'dequeued'
        and departs_in_window
        and role in ('app', 'tcp')
        and sojourn_ns is not null
),

role_and_all_packets as (
    select
        study_id,
        run_id,
        role,
        sojourn_ns
    from role_packets

    union all

    select
        study_id,
        run_id,
        'all' as role,
        sojourn_ns
    from role_packets
),

ranked as (
    select
        study_id,
        run_id,
        role,
        sojourn_ns,
        row_number() over (
            partition by study_id, run_id, role
            order by sojourn_ns
        ) as delay_rank,
        count(*) over (partition by study_id, run_id, role) as packets
    from role_and_all_packets
),

sojourns as (
    select
        study_id,
        run_id,
        role,
        'queue_sojourn' as delay_basis,
        count(*) as packets,
        cast(sum(sojourn_ns) as double) / count(*) / 1000000 as mean_ms,
        cast(max(case when delay_rank = {{ percentile_rank(500, 'packets') }} then sojourn_ns end) as double) / 1000000 as median_ms,
        cast(max(case when delay_rank = {{ percentile_rank(950, 'packets') }} then sojourn_ns end) as double) / 1000000 as p95_ms,
        cast(max(case when delay_rank = {{ percentile_rank(990, 'packets') }} then sojourn_ns end) as double) / 1000000 as p99_ms,
        cast(max(sojourn_ns) as double) / 1000000 as max_ms
    from ranked
    group by study_id, run_id, role
),

lost as (
    select
        usable_logs.study_id,
        usable_logs.run_id,
        queue_logs.lost_events
    from usable_logs
    inner join queue_logs
        on usable_logs.measurement_hash = queue_logs.source_hash
),

study_means as (
    select
        study_measurements.study_id,
        study_measurements.run_id,
        study_measurements.role,
        'study_mean' as delay_basis,
        cast(null as bigint) as packets,
        study_measurements.queuing_delay_mean_ms as mean_ms,
        cast(null as double) as median_ms,
        cast(null as double) as p95_ms,
        cast(null as double) as p99_ms,
        cast(null as double) as max_ms
    from study_measurements
    inner join run_roles
        on
            study_measurements.study_id = run_roles.study_id
            and study_measurements.run_id = run_roles.run_id
            and study_measurements.role = run_roles.role
    left join sojourns
        on
            study_measurements.study_id = sojourns.study_id
            and study_measurements.run_id = sojourns.run_id
            and study_measurements.role = sojourns.role
    where
        study_measurements.queuing_delay_mean_ms is not null
        and sojourns.run_id is null
),

delays as (
    select * from sojourns
    union all
    select * from study_means
),

final as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        {{ run_dimensions('runs') }},
        delays.delay_basis,
        delays.packets,
        lost.lost_events,
        delays.mean_ms,
        delays.median_ms,
        delays.p95_ms,
        delays.p99_ms,
        delays.max_ms,
        delays.mean_ms * runs.bandwidth_bps / (runs.queue_limit_bytes * cast(8000 as double)) as delay_share_of_maximum_ratio,
        reconciliations.reconciliation_verdict
    from delays
    inner join runs
        on
            delays.study_id = runs.study_id
            and delays.run_id = runs.run_id
    left join lost
        on
            delays.study_id = lost.study_id
            and delays.run_id = lost.run_id
            and delays.delay_basis = 'queue_sojourn'
    left join reconciliations
        on
            delays.study_id = reconciliations.study_id
            and delays.run_id = reconciliations.run_id
)

select * from final
