-- Starts of an application, derived from its flows. It restarts within a run after all its flows have ended, and between two runs if the
-- later run has none of the earlier run's flows.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where start_ns is not null
),

run_roles as (
    select * from {{ ref('int_run_role') }}
    where role in ('app', 'rival')
),

flows as (
    select * from {{ ref('int_run_application_flow') }}
),

thresholds as (
    select * from {{ ref('threshold') }}
    where threshold_id = 'application-silence'
),

followed as (
    select
        *,
        max(last_packet_ns) over (
            partition by study_id, run_id, role
            order by first_packet_ns asc, flow_id asc
            rows between unbounded preceding and 1 preceding
        ) as earlier_last_ns
    from flows
),

begun as (
    select
        followed.*,
        case
            when followed.earlier_last_ns is null then 1
            when
                followed.first_packet_ns - followed.earlier_last_ns
                >= cast(round(thresholds.threshold_value * 1000000000) as bigint)
                then 1
            else 0
        end as begins
    from followed
    cross join thresholds
),

numbered as (
    select
        *,
        sum(begins) over (
            partition by study_id, run_id, role
            order by first_packet_ns asc, flow_id asc
            rows between unbounded preceding and current row
        ) as start_number
    from begun
),

starts as (
    select
        study_id,
        run_id,
        role,
        start_number,
        max(flow_basis) as flow_basis,
        min(first_packet_ns) as first_ns,
        max(last_packet_ns) as last_ns,
        max(case when begins = 1 then earlier_last_ns end) as earlier_last_ns,
        count(*) as flows,
        count(case when is_declared then 1 end) as declared_flows
    from numbered
    group by
        study_id,
        run_id,
        role,
        start_number
),

-- Runs of one application are ordered by start time, whatever their configuration.
present as (
    select
        run_roles.study_id,
        run_roles.run_id,
        run_roles.role,
        run_roles.application as started_application,
        lag(run_roles.run_id) over (
            partition by run_roles.study_id, run_roles.role, run_roles.application
            order by runs.start_ns asc, runs.run_id asc
        ) as previous_run_id
    from run_roles
    inner join runs
        on
            run_roles.study_id = runs.study_id
            and run_roles.run_id = runs.run_id
    inner join starts
        on
            run_roles.study_id = starts.study_id
            and run_roles.run_id = starts.run_id
            and run_roles.role = starts.role
            and starts.start_number = 1
),

-- Either end may have been seen first, in each of the runs.
earlier_flows as (
    select
        study_id,
        run_id,
        role,
        protocol,
        initiator_host_key as host_key,
        initiator_port as port,
        responder_host_key as other_host_key,
        responder_port as other_port
    from flows

    union

    select
        study_id,
        run_id,
        role,
        protocol,
        responder_host_key as host_key,
        responder_port as port,
        initiator_host_key as other_host_key,
        initiator_port as other_port
    from flows
),

-- A flow in both runs may have continued; a TCP connection with a SYN in the later run has not.
continued as (
    select distinct
        present.study_id,
        present.run_id,
        present.role
    from present
    inner join flows
        on
            present.study_id = flows.study_id
            and present.run_id = flows.run_id
            and present.role = flows.role
    inner join earlier_flows
        on
            present.study_id = earlier_flows.study_id
            and present.previous_run_id = earlier_flows.run_id
            and present.role = earlier_flows.role
            and flows.protocol = earlier_flows.protocol
            and flows.initiator_host_key = earlier_flows.host_key
            and flows.initiator_port = earlier_flows.port
            and flows.responder_host_key = earlier_flows.other_host_key
            and flows.responder_port = earlier_flows.other_port
    where coalesce(flows.starts_in_mid_flow, true)
),

kinds as (
    select
        starts.*,
        present.started_application,
        present.previous_run_id,
        case
            when starts.start_number > 1 then 'within_run'
            when present.previous_run_id is null then 'first_run'
            when continued.run_id is null then 'new_flows'
            else 'same_flows'
        end as start_kind
    from starts
    inner join present
        on
            starts.study_id = present.study_id
            and starts.run_id = present.run_id
            and starts.role = present.role
    left join continued
        on
            starts.study_id = continued.study_id
            and starts.run_id = continued.run_id
            and starts.role = continued.role
),

final as (
    select
        kinds.study_id,
        kinds.run_id,
        kinds.role,
        cast(kinds.start_number as int) as start_number,
        kinds.started_application,
        kinds.flow_basis,
        kinds.start_kind,
        kinds.start_kind in ('within_run', 'new_flows') as is_restart,
        kinds.previous_run_id,
        cast(kinds.first_ns - runs.start_ns as double) / 1000000 as first_packet_ms,
        cast(kinds.last_ns - runs.start_ns as double) / 1000000 as last_packet_ms,
        cast(kinds.first_ns - kinds.earlier_last_ns as double) / 1000000 as silence_ms,
        kinds.flows,
        kinds.declared_flows
    from kinds
    inner join runs
        on
            kinds.study_id = runs.study_id
            and kinds.run_id = runs.run_id
)

select * from final
