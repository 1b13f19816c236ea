with

declared_flows as (
    select * from {{ ref('stg_lake__run_flow') }}
),

chosen_descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
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

both_orientations as (
    select
        study_id,
        run_id,
        flow_number,
        role,
        protocol,
        source_host_key as sender_host_key,
        source_port as sender_port,
        destination_host_key as receiver_host_key,
        destination_port as receiver_port,
        true as is_data_direction
    from run_flows

    union all

    select
        study_id,
        run_id,
        flow_number,
        role,
        protocol,
        destination_host_key as sender_host_key,
        destination_port as sender_port,
        source_host_key as receiver_host_key,
        source_port as receiver_port,
        false as is_data_direction
    from run_flows
),

-- Where a manifest declares both directions of one 5-tuple as flows, each direction is the data direction of its own flow.
ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, protocol, sender_host_key, sender_port, receiver_host_key, receiver_port
            order by is_data_direction desc, flow_number asc
        ) as preference
    from both_orientations
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
    from ranked
    where preference = 1
)

select * from final
