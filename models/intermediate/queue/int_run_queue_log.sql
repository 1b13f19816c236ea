with

usable_logs as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement = 'queue_log'
),

queue_logs as (
    select * from {{ ref('stg_lake__queue_log') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

final as (
    select
        usable_logs.study_id,
        usable_logs.run_id,
        queue_logs.source_hash,
        usable_logs.status,
        queue_logs.lost_events,
        -- Without an offset, the UTC time is unknown.
        case when queue_logs.clock = 'monotonic' then runs.monotonic_offset_ns else 0 end as utc_offset_ns
    from usable_logs
    inner join queue_logs
        on usable_logs.measurement_hash = queue_logs.source_hash
    inner join runs
        on
            usable_logs.study_id = runs.study_id
            and usable_logs.run_id = runs.run_id
)

select * from final
