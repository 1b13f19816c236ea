with

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

data_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where
        measurement = 'capture_after'
        and is_data_direction
),

runs as (
    select * from {{ ref('int_run_given') }}
),

final as (
    select
        data_directions.study_id,
        data_directions.run_id,
        data_directions.role,
        cast(sum(flow_intervals.bytes) as bigint) as bytes,
        cast(sum(flow_intervals.packets) as bigint) as packets
    {{ from_flow_intervals() }}
    where
        flow_intervals.interval_start_ns >= runs.window_start_ns
        and flow_intervals.interval_start_ns < runs.window_end_ns
    group by
        data_directions.study_id,
        data_directions.run_id,
        data_directions.role
)

select * from final
