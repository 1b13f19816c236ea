with

polls as (
    select * from {{ ref('stg_lake__tcp_poll') }}
),

oriented_flows as (
    select * from {{ ref('int_run_flow_oriented') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

poll_files as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement = 'tcp_polls'
),

final as (
    select
        poll_files.study_id,
        poll_files.run_id,
        polls.poll_index,
        polls.socket_index,
        coalesce(oriented_flows.role, 'other') as role,
        polls.poll_start_ns,
        polls.srtt_us,
        polls.min_rtt_us,
        coalesce(
            polls.poll_start_ns >= runs.window_start_ns
            and polls.poll_start_ns < runs.window_end_ns,
            false
        ) as starts_in_window
    from polls
    inner join poll_files
        on polls.source_hash = poll_files.measurement_hash
    inner join runs
        on
            poll_files.study_id = runs.study_id
            and poll_files.run_id = runs.run_id
    left join oriented_flows
        on
            poll_files.study_id = oriented_flows.study_id
            and poll_files.run_id = oriented_flows.run_id
            and oriented_flows.protocol = 'tcp'
            and polls.local_host_key = oriented_flows.sender_host_key
            and polls.local_port = oriented_flows.sender_port
            and polls.peer_host_key = oriented_flows.receiver_host_key
            and polls.peer_port = oriented_flows.receiver_port
)

select * from final
