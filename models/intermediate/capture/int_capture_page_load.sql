-- Page loads estimated from the connections of one client: activity without a long quiet period, from a first SYN to the last response.
-- These estimates are never pooled with times that tools measured.
with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

decoded_flows as (
    select * from {{ ref('stg_lake__flow') }}
),

intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
    where direction = 'rev'
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
    where qoe_model_id = 'g1030-one-page-flows'
),

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where role != 'other'
),

-- Roles that manifests declare. A capture may belong to several runs, and so may its flows.
declared_flows as (
    select
        source_hash,
        flow_id,
        min(role) as role
    from flow_directions
    group by source_hash, flow_id
),

bounds as (
    select
        max(case when parameter = 'quiet' then parameter_value end) * 1000000 as quiet_ns,
        max(case when parameter = 'least_answer' then parameter_value end) as least_answer_bytes,
        max(case when parameter = 'longest' then parameter_value end) * 1000000 as longest_ns
    from parameters
),

-- TCP connections that a manifest declares as the application's, and connections to a web port without a declared role.
web_flows as (
    select
        flows.source_hash,
        flows.flow_id,
        flows.initiator_host_key,
        flows.first_packet_ns,
        flows.last_packet_ns,
        flows.handshake_rtt_us,
        flows.fwd_retransmitted_packets + flows.rev_retransmitted_packets as retransmitted_packets,
        cast(flows.rev_bytes - flows.rev_payload_bytes as double) / nullif(flows.rev_packets, 0) as header_bytes,
        -- Bit 0 is FIN, bit 2 is RST.
        decoded_flows.fwd_tcp_flags % 2 + decoded_flows.rev_tcp_flags % 2 = 2
        or {{ integer_divide('decoded_flows.fwd_tcp_flags', 4) }} % 2 + {{ integer_divide('decoded_flows.rev_tcp_flags', 4) }} % 2 > 0
            as is_closed
    from flows
    inner join decoded_flows
        on
            flows.source_hash = decoded_flows.source_hash
            and flows.flow_id = decoded_flows.flow_id
    left join declared_flows
        on
            flows.source_hash = declared_flows.source_hash
            and flows.flow_id = declared_flows.flow_id
    where
        (
            (flows.protocol = 'tcp' and not flows.starts_in_mid_flow)
            or (flows.protocol = 'udp' and flows.quic_version is not null)
        )
        and (
            (declared_flows.role = 'app' and flows.protocol = 'tcp')
            or (declared_flows.role is null and flows.service in ('http', 'https', 'http-alt', 'pcsync-https'))
        )
),

-- Intervals in which the server sent a response, not only headers and a few bytes. The last one ends with the flow's last packet.
answers as (
    select
        web_flows.source_hash,
        web_flows.flow_id,
        web_flows.initiator_host_key,
        greatest(intervals.interval_start_ns, web_flows.first_packet_ns) as start_ns,
        least(intervals.interval_start_ns + intervals.interval_ms * cast(1000000 as bigint), web_flows.last_packet_ns) as end_ns,
        intervals.bytes - intervals.packets * web_flows.header_bytes as answer_bytes
    from intervals
    inner join web_flows
        on
            intervals.source_hash = web_flows.source_hash
            and intervals.flow_id = web_flows.flow_id
    cross join bounds
    where intervals.bytes - intervals.packets * web_flows.header_bytes > bounds.least_answer_bytes
),

first_answers as (
    select
        source_hash,
        flow_id,
        min(start_ns) as start_ns
    from answers
    group by source_hash, flow_id
),

-- A client that waits for its first response counts as active, however long the wait.
activities as (
    select
        web_flows.source_hash,
        web_flows.flow_id,
        web_flows.initiator_host_key,
        web_flows.first_packet_ns as start_ns,
        coalesce(first_answers.start_ns, web_flows.first_packet_ns) as end_ns,
        true as is_opening,
        cast(0 as double) as answer_bytes,
        web_flows.handshake_rtt_us,
        web_flows.retransmitted_packets,
        web_flows.is_closed
    from web_flows
    left join first_answers
        on
            web_flows.source_hash = first_answers.source_hash
            and web_flows.flow_id = first_answers.flow_id

    union all

    select
        answers.source_hash,
        answers.flow_id,
        answers.initiator_host_key,
        answers.start_ns,
        answers.end_ns,
        false as is_opening,
        answers.answer_bytes,
        cast(null as bigint) as handshake_rtt_us,
        cast(null as bigint) as retransmitted_packets,
        web_flows.is_closed
    from answers
    inner join web_flows
        on
            answers.source_hash = web_flows.source_hash
            and answers.flow_id = web_flows.flow_id
),

after_others as (
    select
        *,
        max(end_ns) over (
            partition by source_hash, initiator_host_key
            order by start_ns, flow_id, end_ns, is_opening
            rows between unbounded preceding and 1 preceding
        ) as busy_until_ns
    from activities
),

numbered as (
    select
        after_others.*,
        sum(case when after_others.start_ns - after_others.busy_until_ns < bounds.quiet_ns then 0 else 1 end) over (
            partition by after_others.source_hash, after_others.initiator_host_key
            order by after_others.start_ns, after_others.flow_id, after_others.end_ns, after_others.is_opening
            rows between unbounded preceding and current row
        ) as burst_number
    from after_others
    cross join bounds
),

in_bursts as (
    select
        *,
        max(case when not is_opening then end_ns end) over (
            partition by source_hash, initiator_host_key, burst_number
        ) as last_answer_ns
    from numbered
),

bursts as (
    select
        source_hash,
        initiator_host_key,
        burst_number,
        min(start_ns) as start_ns,
        min(case when is_opening then start_ns end) as first_opening_ns,
        max(last_answer_ns) as last_answer_ns,
        max(case when end_ns = last_answer_ns and not is_opening then end_ns - start_ns end) as resolution_ns,
        count(case when is_opening then 1 end) as connections,
        cast(sum(cast(round(answer_bytes) as bigint)) as bigint) as answer_bytes,
        cast(sum(handshake_rtt_us) as bigint) as handshake_rtt_sum_us,
        count(handshake_rtt_us) as handshakes,
        cast(sum(retransmitted_packets) as bigint) as retransmitted_packets,
        min(case when coalesce(is_closed, false) then 1 else 0 end) = 1 as is_closed
    from in_bursts
    group by source_hash, initiator_host_key, burst_number
),

judged as (
    select
        bursts.source_hash,
        recordings.dataset,
        recordings.recording_name,
        recordings.study_id,
        recordings.run_id,
        recordings.measurement,
        cast(
            row_number() over (
                partition by bursts.source_hash
                order by bursts.start_ns, bursts.initiator_host_key, bursts.burst_number
            ) - 1
            as bigint
        ) as load_number,
        bursts.start_ns,
        case
            when bursts.last_answer_ns is null then 'no answer of more than 100 bytes'
            when bursts.first_opening_ns is null or bursts.first_opening_ns > bursts.start_ns then 'begins on an open connection'
            when not bursts.is_closed and totals.last_packet_ns - bursts.last_answer_ns < bounds.quiet_ns
                then 'the recording may end before the load'
            when bursts.last_answer_ns - bursts.start_ns > bounds.longest_ns then 'longer than a page load: 60 s'
        end as load_null_reason,
        cast(bursts.last_answer_ns - bursts.start_ns as double) / 1000000 as busy_ms,
        cast(bursts.resolution_ns as double) / 1000000 as resolution_ms,
        bursts.connections,
        bursts.answer_bytes,
        cast(bursts.handshake_rtt_sum_us as double) / nullif(bursts.handshakes, 0) / 1000 as handshake_rtt_ms,
        bursts.retransmitted_packets
    from bursts
    inner join recordings on bursts.source_hash = recordings.source_hash
    inner join totals on bursts.source_hash = totals.source_hash
    cross join bounds
),

final as (
    select
        *,
        case when load_null_reason is null then busy_ms end as page_load_time_ms
    from judged
)

select * from final
