with

runs as (
    select * from {{ ref('int_run_described') }}
    where window_end_ns > window_start_ns
),

chosen_captures as (
    select * from {{ ref('int_run_chosen_capture') }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
    where protocol in ('tcp', 'udp')
),

overlapping as (
    select
        runs.study_id,
        runs.run_id,
        chosen_captures.measurement as flow_basis,
        runs.window_end_ns - runs.window_start_ns as window_ns,
        flows.protocol,
        flows.flow_id,
        -- least and greatest ignore nulls: without this condition, a capture without flows would have one flow that lasts throughout.
        case
            when flows.flow_id is not null
                then least(flows.last_packet_ns, runs.window_end_ns) - greatest(flows.first_packet_ns, runs.window_start_ns)
        end as lived_ns
    from runs
    inner join chosen_captures
        on
            runs.study_id = chosen_captures.study_id
            and runs.run_id = chosen_captures.run_id
    left join flows
        on
            chosen_captures.measurement_hash = flows.source_hash
            and runs.window_start_ns <= flows.last_packet_ns
            and runs.window_end_ns > flows.first_packet_ns
),

counted as (
    select
        study_id,
        run_id,
        max(flow_basis) as flow_basis,
        count(flow_id) as window_flows,
        count(case when protocol = 'tcp' then flow_id end) as window_tcp_flows,
        cast(coalesce(sum(lived_ns), 0) as double) / max(window_ns) as mean_flows,
        cast(coalesce(sum(case when protocol = 'tcp' then lived_ns end), 0) as double) / max(window_ns) as mean_tcp_flows
    from overlapping
    group by study_id, run_id
),

final as (
    select
        counted.study_id,
        counted.run_id,
        counted.flow_basis,
        counted.window_flows,
        counted.window_tcp_flows,
        counted.mean_flows,
        counted.mean_tcp_flows
    from counted
)

select * from final
