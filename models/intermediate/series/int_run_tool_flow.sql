-- Flows whose rates a measurement tool recorded, with the role in which each shares the link. Runs with a usable capture after the
-- bottleneck or with published bytes get their rates from there. Only flows of the same tool are compared, because tools count bytes
-- differently.
with

series_values as (
    select * from {{ ref('stg_lake__series') }}
    where
        metric = 'rate_bps'
        and flow_name is not null
        and role in ('app', 'tcp')
        and sample_basis in ('intervals', 'samples', 'interpolated')
        and value is not null
        and time_s is not null
),

series_files as (
    select * from {{ ref('int_run_series_file') }}
),

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where
        measurement = 'capture_after'
        and is_usable
),

published_runs as (
    select distinct
        study_id,
        run_id
    from {{ ref('stg_lake__run_measurement') }}
    where bytes is not null
),

rivals as (
    select * from {{ ref('stg_lake__run_rival') }}
),

-- Runs of an application, which the tool need not see: its TCP flows are all on the other side.
application_runs as (
    select distinct
        study_id,
        run_id
    from {{ ref('stg_lake__run') }}
    where application is not null
),

flow_controls as (
    select * from {{ ref('stg_lake__series_flow') }}
),

series as (
    select
        series_files.study_id,
        series_files.run_id,
        series_files.measurement,
        series_files.source_hash,
        series_values.series_number,
        min(series_values.role) as flow_role,
        min(series_values.flow_name) as flow_name,
        min(series_values.direction) as flow_direction,
        min(flow_controls.congestion_control) as congestion_control,
        min(series_values.sample_basis) as sample_basis,
        min(series_values.time_s - coalesce(series_values.duration_s, 0)) as first_s,
        max(series_values.time_s) as last_s
    from series_files
    inner join series_values
        on series_files.source_hash = series_values.source_hash
    left join flow_controls
        on
            series_values.source_hash = flow_controls.source_hash
            and series_values.flow_name = flow_controls.flow_name
    left join captures
        on
            series_files.study_id = captures.study_id
            and series_files.run_id = captures.run_id
    left join published_runs
        on
            series_files.study_id = published_runs.study_id
            and series_files.run_id = published_runs.run_id
    left join rivals
        on
            series_files.study_id = rivals.study_id
            and series_files.run_id = rivals.run_id
    where
        captures.run_id is null
        and published_runs.run_id is null
        -- No tool states which of its flows is the rival of an application.
        and rivals.run_id is null
    group by
        series_files.study_id,
        series_files.run_id,
        series_files.measurement,
        series_files.source_hash,
        series_values.series_number
),

-- One series per flow: measured values take precedence over interpolated ones.
ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, measurement, flow_role, flow_name, coalesce(flow_direction, 'both')
            order by
                case sample_basis when 'intervals' then 0 when 'samples' then 1 else 2 end,
                series_number
        ) as preference
    from series
),

-- One tool per run: the one with the most flows. If several have equally many, prefer a client, because it states the direction of the data
-- as the run does.
tools as (
    select
        study_id,
        run_id,
        measurement,
        row_number() over (
            partition by study_id, run_id
            order by count(*) desc, case when measurement like '%server' then 1 else 0 end, measurement
        ) as preference
    from ranked
    where preference = 1
    group by study_id, run_id, measurement
),

flows as (
    select
        ranked.study_id,
        ranked.run_id,
        ranked.measurement,
        ranked.source_hash,
        ranked.series_number,
        ranked.flow_role,
        ranked.flow_name,
        ranked.flow_direction,
        ranked.congestion_control,
        ranked.sample_basis,
        ranked.first_s,
        ranked.last_s,
        row_number() over (
            partition by ranked.study_id, ranked.run_id, ranked.flow_role
            order by ranked.series_number
        ) as flow_number
    from ranked
    inner join tools
        on
            ranked.study_id = tools.study_id
            and ranked.run_id = tools.run_id
            and ranked.measurement = tools.measurement
            and tools.preference = 1
    where ranked.preference = 1
),

counted as (
    select
        study_id,
        run_id,
        count(case when flow_role = 'tcp' then 1 end) as tcp_flows,
        count(case when flow_role = 'app' then 1 end) as app_flows,
        -- Time during which all flows, such as the two of a pair, were active.
        min(last_s) - max(first_s) as common_s
    from flows
    group by study_id, run_id
),

-- If a run has only two TCP flows, and they overlap in time, they compete with each other, unless both compete with an application.
assigned as (
    select
        flows.*,
        case
            when
                flows.flow_number = 2
                and counted.tcp_flows = 2
                and counted.app_flows = 0
                and application_runs.run_id is null
                and counted.common_s > 0
                then 'rival'
            else flows.flow_role
        end as role
    from flows
    inner join counted
        on
            flows.study_id = counted.study_id
            and flows.run_id = counted.run_id
    left join application_runs
        on
            flows.study_id = application_runs.study_id
            and flows.run_id = application_runs.run_id
),

-- Flows of a role in both directions share no queue, so their sum is not the rate of any link.
one_way as (
    select
        study_id,
        run_id,
        role,
        min(first_s) as role_first_s,
        max(last_s) as role_last_s
    from assigned
    group by study_id, run_id, role
    having count(distinct coalesce(flow_direction, 'both')) = 1
),

-- Time during which all roles were active.
windows as (
    select
        study_id,
        run_id,
        max(role_first_s) as window_start_s,
        min(role_last_s) as window_end_s
    from one_way
    group by study_id, run_id
),

final as (
    select
        assigned.study_id,
        assigned.run_id,
        assigned.role,
        assigned.measurement,
        assigned.source_hash,
        assigned.series_number,
        assigned.flow_name,
        assigned.flow_direction,
        assigned.congestion_control,
        assigned.sample_basis,
        assigned.first_s,
        assigned.last_s,
        windows.window_start_s,
        windows.window_end_s
    from assigned
    inner join one_way
        on
            assigned.study_id = one_way.study_id
            and assigned.run_id = one_way.run_id
            and assigned.role = one_way.role
    inner join windows
        on
            assigned.study_id = windows.study_id
            and assigned.run_id = windows.run_id
    where windows.window_end_s > windows.window_start_s
)

select * from final
