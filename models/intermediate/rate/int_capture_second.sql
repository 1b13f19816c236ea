-- Bytes of each role in each whole second since the run's start, from the run's captures. A second without packets has 0 bytes.
-- A manifest describes a day at most; a capture may hold packets of years later.
{% set longest_run_ns = 86400 * 1000000000 %}
{% set observed_ns = 'least(greatest(sources.last_observation_ns - runs.start_ns, 0), ' ~ longest_run_ns ~ ')' %}
with

runs as (
    select * from {{ ref('int_run_described') }}
    where start_ns is not null
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement in ('capture_before', 'capture_after')
),

data_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where is_data_direction
),

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

-- If the recording has no packet of any declared flow, the rate is unknown, and there are no seconds with 0 bytes.
recognised_captures as (
    select distinct
        study_id,
        run_id,
        measurement
    from data_directions
    where role in {{ competing_roles() }}
),

observed as (
    select
        runs.study_id,
        runs.run_id,
        sources.measurement,
        {{ observed_ns }} as observed_ns
    from runs
    inner join sources
        on
            runs.study_id = sources.study_id
            and runs.run_id = sources.run_id
    inner join recognised_captures
        on
            sources.study_id = recognised_captures.study_id
            and sources.run_id = recognised_captures.run_id
            and sources.measurement = recognised_captures.measurement
),

seconds as (
    {{ rows_of_whole_numbers_below(
        'observed', ['study_id', 'run_id', 'measurement'], integer_divide('observed_ns', 1000000000), 'second'
    ) }}
),

role_seconds as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.measurement,
        run_roles.role,
        cast(seconds.second as int) as second
    from seconds
    inner join run_roles
        on
            seconds.study_id = run_roles.study_id
            and seconds.run_id = run_roles.run_id
),

counted as (
    select
        data_directions.study_id,
        data_directions.run_id,
        data_directions.measurement,
        data_directions.role,
        cast({{ integer_divide('flow_intervals.interval_start_ns - runs.start_ns', 1000000000) }} as int) as second,
        cast(sum(flow_intervals.bytes) as bigint) as bytes
    {{ from_flow_intervals() }}
    where
        data_directions.role in {{ competing_roles() }}
        and flow_intervals.interval_start_ns >= runs.start_ns
        and flow_intervals.interval_start_ns < runs.start_ns + {{ longest_run_ns }}
    group by
        data_directions.study_id,
        data_directions.run_id,
        data_directions.measurement,
        data_directions.role,
        cast({{ integer_divide('flow_intervals.interval_start_ns - runs.start_ns', 1000000000) }} as int)
),

final as (
    select
        role_seconds.study_id,
        role_seconds.run_id,
        role_seconds.measurement,
        role_seconds.role,
        role_seconds.second,
        coalesce(counted.bytes, 0) as bytes
    from role_seconds
    left join counted
        on
            role_seconds.study_id = counted.study_id
            and role_seconds.run_id = counted.run_id
            and role_seconds.measurement = counted.measurement
            and role_seconds.role = counted.role
            and role_seconds.second = counted.second
)

select * from final
