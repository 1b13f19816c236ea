with

declared_flows as (
    select * from {{ ref('stg_lake__run_flow') }}
),

chosen_descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

chosen_captures as (
    select * from {{ ref('int_run_chosen_capture') }}
),

flow_roles as (
    select * from {{ ref('stg_lake__flow_role') }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

run_flows as (
    select declared_flows.*
    from declared_flows
    inner join chosen_descriptions
        on
            declared_flows.study_id = chosen_descriptions.study_id
            and declared_flows.run_id = chosen_descriptions.run_id
            and declared_flows.source_hash = chosen_descriptions.source_hash
),

-- Rules match flows in the run's chosen capture. The data direction is the one with more bytes.
ruled_flows as (
    select
        run_flows.study_id,
        run_flows.run_id,
        run_flows.flow_number,
        run_flows.role,
        flows.protocol,
        case when flows.rev_bytes > flows.fwd_bytes then flows.responder_host_key else flows.initiator_host_key end
            as source_host_key,
        case when flows.rev_bytes > flows.fwd_bytes then flows.responder_port else flows.initiator_port end as source_port,
        case when flows.rev_bytes > flows.fwd_bytes then flows.initiator_host_key else flows.responder_host_key end
            as destination_host_key,
        case when flows.rev_bytes > flows.fwd_bytes then flows.initiator_port else flows.responder_port end
            as destination_port,
        true as is_ruled
    from run_flows
    inner join chosen_captures
        on
            run_flows.study_id = chosen_captures.study_id
            and run_flows.run_id = chosen_captures.run_id
    inner join flow_roles
        on
            chosen_captures.measurement_hash = flow_roles.source_hash
            and run_flows.study_id = flow_roles.study_id
            and run_flows.run_id = flow_roles.run_id
            and run_flows.flow_number = flow_roles.flow_number
            and run_flows.role = flow_roles.role
    inner join flows
        on
            flow_roles.source_hash = flows.source_hash
            and flow_roles.flow_id = flows.flow_id
    where run_flows.source_host_key is null
),

taken_flows as (
    select
        study_id,
        run_id,
        flow_number,
        role,
        protocol,
        source_host_key,
        source_port,
        destination_host_key,
        destination_port,
        false as is_ruled
    from run_flows
    where source_host_key is not null

    union all

    select * from ruled_flows
),

both_orientations as (
    {%- for sender, receiver in [('source', 'destination'), ('destination', 'source')] %}
        {{ 'union all' if not loop.first }}
        select
            study_id,
            run_id,
            flow_number,
            role,
            protocol,
            {{ sender }}_host_key as sender_host_key,
            {{ sender }}_port as sender_port,
            {{ receiver }}_host_key as receiver_host_key,
            {{ receiver }}_port as receiver_port,
            {{ 'true' if sender == 'source' else 'false' }} as is_data_direction,
            is_ruled
        from taken_flows
    {%- endfor %}
),

-- If a manifest declares both directions of a 5-tuple as flows, each direction is the data direction of its own flow.
ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, protocol, sender_host_key, sender_port, receiver_host_key, receiver_port, is_ruled
            order by case when is_ruled then flow_number end asc, is_data_direction desc, flow_number asc
        ) as preference
    from both_orientations
),

-- If a declared 5-tuple and a rule match the same flow, the first one in the manifest's list takes it.
first_of_both as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, protocol, sender_host_key, sender_port, receiver_host_key, receiver_port
            order by flow_number
        ) as place
    from ranked
    where preference = 1
),

final as (
    select
        study_id,
        run_id,
        protocol,
        sender_host_key,
        sender_port,
        receiver_host_key,
        receiver_port,
        flow_number,
        role,
        is_data_direction
    from first_of_both
    where place = 1
)

select * from final
