with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

study_measurements as (
    select * from {{ ref('stg_lake__run_measurement') }}
),

offered_packets as (
    select
        study_id,
        run_id,
        role,
        case when fate = 'dequeued' then 0 else 1 end as is_dropped
    from packets
    where
        departs_in_window
        and role in {{ competing_roles() }}
),

role_and_all_packets as (
    {{ roles_and_all('offered_packets', ['is_dropped']) }}
),

logged as (
    select
        study_id,
        run_id,
        role,
        'queue_log' as drop_basis,
        count(*) as offered_packets,
        cast(sum(is_dropped) as bigint) as window_dropped_packets,
        cast(sum(is_dropped) as double) / count(*) as drop_ratio
    from role_and_all_packets
    group by study_id, run_id, role
),

published as (
    select
        study_measurements.study_id,
        study_measurements.run_id,
        study_measurements.role,
        'study_table' as drop_basis,
        cast(null as bigint) as offered_packets,
        cast(null as bigint) as window_dropped_packets,
        study_measurements.drop_ratio
    from study_measurements
    inner join run_roles
        on
            study_measurements.study_id = run_roles.study_id
            and study_measurements.run_id = run_roles.run_id
            and study_measurements.role = run_roles.role
    left join logged
        on
            study_measurements.study_id = logged.study_id
            and study_measurements.run_id = logged.run_id
            and study_measurements.role = logged.role
    where
        study_measurements.drop_ratio is not null
        and logged.run_id is null
),

drops as (
    select * from logged
    union all
    select * from published
),

final as (
    select
        drops.study_id,
        drops.run_id,
        drops.role,
        drops.drop_basis,
        drops.offered_packets,
        drops.window_dropped_packets,
        drops.drop_ratio,
        reconciliations.reconciliation_verdict
    from drops
    left join reconciliations
        on
            drops.study_id = reconciliations.study_id
            and drops.run_id = reconciliations.run_id
)

select * from final
