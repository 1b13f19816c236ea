with

runs as (
    select * from {{ ref('int_run_given') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

bytes_in_window as (
    select * from {{ ref('int_flow_bytes_in_window') }}
),

capture_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where measurement = 'capture_after'
),

declared_flows as (
    select * from {{ ref('stg_lake__run_flow') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

study_measurements as (
    select * from {{ ref('stg_lake__run_measurement') }}
),

tool_rates as (
    select * from {{ ref('int_run_tool_rate') }}
),

recognised_runs as (
    select distinct
        study_id,
        run_id
    from capture_directions
    where role in {{ declared_roles() }}
),

-- A rule that matched no flow may be wrong, so the rate of its role is unknown.
untaken_roles as (
    select distinct
        declared_flows.study_id,
        declared_flows.run_id,
        declared_flows.role
    from declared_flows
    left join oriented_flows
        on
            declared_flows.study_id = oriented_flows.study_id
            and declared_flows.run_id = oriented_flows.run_id
            and declared_flows.role = oriented_flows.role
    where
        declared_flows.source_host_key is null
        and oriented_flows.role is null
),

-- A starved flow has no row in the capture; its rate is 0, not unknown. If the whole recording has no packet of any declared flow, its
-- addresses may differ from those in the manifest, so the rate is unknown.
captured_runs as (
    select
        runs.study_id,
        runs.run_id,
        runs.window_ms,
        case when recognised_runs.run_id is not null then cast(0 as bigint) end as unseen
    from runs
    left join recognised_runs
        on
            runs.study_id = recognised_runs.study_id
            and runs.run_id = recognised_runs.run_id
    where
        runs.has_capture_after
        and runs.window_ms > 0
),

captured_roles as (
    select
        captured_runs.study_id,
        captured_runs.run_id,
        run_roles.role,
        coalesce(bytes_in_window.bytes, case when untaken_roles.role is null then captured_runs.unseen end) as bytes,
        coalesce(bytes_in_window.packets, case when untaken_roles.role is null then captured_runs.unseen end) as packets,
        captured_runs.window_ms
    from captured_runs
    inner join run_roles
        on
            captured_runs.study_id = run_roles.study_id
            and captured_runs.run_id = run_roles.run_id
    left join bytes_in_window
        on
            captured_runs.study_id = bytes_in_window.study_id
            and captured_runs.run_id = bytes_in_window.run_id
            and run_roles.role = bytes_in_window.role
    left join untaken_roles
        on
            captured_runs.study_id = untaken_roles.study_id
            and captured_runs.run_id = untaken_roles.run_id
            and run_roles.role = untaken_roles.role
),

captured_totals as (
    select
        captured_runs.study_id,
        captured_runs.run_id,
        'all' as role,
        cast(coalesce(sum(bytes_in_window.bytes), max(captured_runs.unseen)) as bigint) as bytes,
        cast(coalesce(sum(bytes_in_window.packets), max(captured_runs.unseen)) as bigint) as packets,
        captured_runs.window_ms
    from captured_runs
    left join bytes_in_window
        on
            captured_runs.study_id = bytes_in_window.study_id
            and captured_runs.run_id = bytes_in_window.run_id
    group by
        captured_runs.study_id,
        captured_runs.run_id,
        captured_runs.window_ms
),

study_roles as (
    select
        study_measurements.study_id,
        study_measurements.run_id,
        study_measurements.role,
        study_measurements.bytes,
        study_measurements.window_ms
    from study_measurements
    inner join run_roles
        on
            study_measurements.study_id = run_roles.study_id
            and study_measurements.run_id = run_roles.run_id
            and study_measurements.role = run_roles.role
    left join captured_runs
        on
            study_measurements.study_id = captured_runs.study_id
            and study_measurements.run_id = captured_runs.run_id
    where
        captured_runs.run_id is null
        and study_measurements.bytes is not null
        and study_measurements.window_ms > 0
),

study_totals as (
    select
        study_id,
        run_id,
        'all' as role,
        cast(sum(bytes) as bigint) as bytes,
        max(window_ms) as window_ms
    from study_roles
    group by study_id, run_id
),

all_bases as (
    {%- for relation, basis, packets in [
        ('captured_roles', 'capture_after', 'packets'), ('captured_totals', 'capture_after', 'packets'),
        ('study_roles', 'study_table', 'cast(null as bigint) as packets'), ('study_totals', 'study_table', 'cast(null as bigint) as packets')
    ] %}
        select
            study_id,
            run_id,
            role,
            '{{ basis }}' as rate_basis,
            bytes,
            {{ packets }},
            window_ms
        from {{ relation }}

        union all
    {% endfor %}
    -- A tool does not see other traffic, so its runs have no rate of all traffic.
    select
        tool_rates.study_id,
        tool_rates.run_id,
        tool_rates.role,
        tool_rates.rate_basis,
        tool_rates.bytes,
        cast(null as bigint) as packets,
        tool_rates.window_ms
    from tool_rates
    inner join run_roles
        on
            tool_rates.study_id = run_roles.study_id
            and tool_rates.run_id = run_roles.run_id
            and tool_rates.role = run_roles.role
),

final as (
    select
        study_id,
        run_id,
        role,
        rate_basis,
        bytes,
        packets,
        window_ms,
        cast(bytes as double) * 8000 / window_ms as rate_bps
    from all_bases
)

select * from final
