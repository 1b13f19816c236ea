-- Flows of a run's applications: those that the manifest declares, and those that share an end (host and port) with them that no other role
-- has. An application that restarts keeps its server's end but gets a new port, which a manifest cannot know in advance.
with

chosen_captures as (
    select * from {{ ref('int_run_chosen_capture') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
    where protocol in ('tcp', 'udp')
),

-- Each end of a declared flow is the sender in one of its two orientations. An end that several roles declare identifies none of them.
role_ends as (
    select
        study_id,
        run_id,
        protocol,
        sender_host_key as host_key,
        sender_port as port,
        max(role) as role
    from oriented_flows
    group by
        study_id,
        run_id,
        protocol,
        sender_host_key,
        sender_port
    having count(distinct role) = 1
),

in_runs as (
    select
        chosen_captures.study_id,
        chosen_captures.run_id,
        chosen_captures.measurement as flow_basis,
        flows.*
    from chosen_captures
    inner join flows
        on chosen_captures.measurement_hash = flows.source_hash
),

matched as (
    select
        in_runs.study_id,
        in_runs.run_id,
        in_runs.flow_basis,
        in_runs.flow_id,
        in_runs.protocol,
        in_runs.initiator_host_key,
        in_runs.initiator_port,
        in_runs.responder_host_key,
        in_runs.responder_port,
        in_runs.first_packet_ns,
        in_runs.last_packet_ns,
        in_runs.starts_in_mid_flow,
        declared.role is not null as is_declared,
        coalesce(declared.role, initiators.role, responders.role) as role,
        initiators.role as initiator_role,
        responders.role as responder_role
    from in_runs
    left join oriented_flows as declared
        on
            in_runs.study_id = declared.study_id
            and in_runs.run_id = declared.run_id
            and in_runs.protocol = declared.protocol
            and in_runs.initiator_host_key = declared.sender_host_key
            and in_runs.initiator_port = declared.sender_port
            and in_runs.responder_host_key = declared.receiver_host_key
            and in_runs.responder_port = declared.receiver_port
    left join role_ends as initiators
        on
            in_runs.study_id = initiators.study_id
            and in_runs.run_id = initiators.run_id
            and in_runs.protocol = initiators.protocol
            and in_runs.initiator_host_key = initiators.host_key
            and in_runs.initiator_port = initiators.port
    left join role_ends as responders
        on
            in_runs.study_id = responders.study_id
            and in_runs.run_id = responders.run_id
            and in_runs.protocol = responders.protocol
            and in_runs.responder_host_key = responders.host_key
            and in_runs.responder_port = responders.port
),

final as (
    select
        study_id,
        run_id,
        role,
        flow_basis,
        flow_id,
        protocol,
        initiator_host_key,
        initiator_port,
        responder_host_key,
        responder_port,
        first_packet_ns,
        last_packet_ns,
        starts_in_mid_flow,
        is_declared
    from matched
    where
        role in ('app', 'rival')
        -- An undeclared flow between ends of two roles belongs to neither.
        and (is_declared or coalesce(initiator_role, role) = coalesce(responder_role, role))
)

select * from final
