with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

final as (
    select
        source_hash,
        min(first_packet_ns) as first_packet_ns,
        max(last_packet_ns) as last_packet_ns,
        {{ integer_divide('min(first_packet_ns)', 1000000000) }} as first_second,
        cast(sum(fwd_packets + rev_packets) as bigint) as packets,
        cast(sum(fwd_bytes + rev_bytes) as bigint) as bytes,
        count(*) as flows,
        count(*) filter (where protocol = 'tcp') as tcp_flows,
        count(*) filter (where protocol = 'udp') as udp_flows
    from flows
    group by source_hash
)

select * from final
