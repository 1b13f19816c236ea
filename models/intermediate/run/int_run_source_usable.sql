with

run_sources as (
    select * from {{ ref('stg_lake__run_source') }}
),

runs as (
    select * from {{ ref('stg_lake__run') }}
),

chosen_descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

queue_logs as (
    select * from {{ ref('stg_lake__queue_log') }}
),

polls as (
    select * from {{ ref('stg_lake__tcp_poll') }}
),

queue_counters as (
    select * from {{ ref('stg_lake__queue_counter') }}
),

call_polls as (
    select * from {{ ref('stg_lake__call_poll') }}
),

content_status as (
    select
        content_hash,
        case
            when max(case when status = 'ok' then 1 else 0 end) = 1 then 'ok'
            when max(case when status = 'partial' then 1 else 0 end) = 1 then 'partial'
            else 'rejected'
        end as status
    from outcomes
    group by content_hash
),

last_observations as (
    select
        source_hash,
        'utc' as clock,
        max(last_packet_ns) as last_observation_ns
    from flows
    group by source_hash

    union all

    select
        source_hash,
        clock,
        last_event_ns as last_observation_ns
    from queue_logs

    union all

    select
        source_hash,
        'utc' as clock,
        max(poll_start_ns) as last_observation_ns
    from polls
    group by source_hash

    union all

    select
        source_hash,
        'utc' as clock,
        max(poll_start_ns) as last_observation_ns
    from queue_counters
    group by source_hash

    union all

    select
        source_hash,
        'utc' as clock,
        max(case when clock = 'utc' then poll_ns end) as last_observation_ns
    from call_polls
    group by source_hash
),

bound as (
    select
        run_sources.study_id,
        run_sources.run_id,
        run_sources.measurement,
        run_sources.measurement_hash,
        coalesce(content_status.status, 'missing') as status,
        runs.window_end_ns,
        case
            when last_observations.clock = 'monotonic' then last_observations.last_observation_ns + runs.monotonic_offset_ns
            else last_observations.last_observation_ns
        end as last_observation_ns
    from run_sources
    inner join chosen_descriptions
        on
            run_sources.study_id = chosen_descriptions.study_id
            and run_sources.run_id = chosen_descriptions.run_id
            and run_sources.source_hash = chosen_descriptions.source_hash
    inner join runs
        on
            run_sources.study_id = runs.study_id
            and run_sources.run_id = runs.run_id
            and run_sources.source_hash = runs.source_hash
    left join content_status
        on run_sources.measurement_hash = content_status.content_hash
    left join last_observations
        on run_sources.measurement_hash = last_observations.source_hash
),

judged as (
    select
        study_id,
        run_id,
        case when measurement = 'queue_log_decoded' then 'queue_log' else measurement end as measurement,
        measurement_hash,
        status,
        last_observation_ns,
        -- A damaged file is complete up to its last record, so it is usable if the window ended by then.
        coalesce(status = 'ok' or (status = 'partial' and last_observation_ns >= window_end_ns), false) as is_usable,
        measurement = 'queue_log_decoded' as is_second_form
    from bound
),

-- The lake may have a queue log in two forms with the same events. Only one form is used, so no event counts twice.
preferred as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, measurement
            order by case when is_usable then 0 else 1 end, case when is_second_form then 1 else 0 end, measurement_hash
        ) as preference
    from judged
),

final as (
    select
        study_id,
        run_id,
        measurement,
        measurement_hash,
        status,
        last_observation_ns,
        is_usable
    from preferred
    where preference = 1
)

select * from final
