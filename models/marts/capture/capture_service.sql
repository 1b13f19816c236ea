with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

final as (
    select
        dataset,
        protocol,
        service,
        count(distinct source_hash) as recordings,
        count(*) as flows,
        cast(sum(fwd_packets + rev_packets) as bigint) as packets,
        cast(sum(fwd_bytes + rev_bytes) as bigint) as bytes,
        cast(sum(fwd_bytes) as bigint) as fwd_bytes,
        cast(sum(rev_bytes) as bigint) as rev_bytes,
        cast(sum(fwd_retransmitted_packets + rev_retransmitted_packets) as bigint) as retransmitted_packets,
        cast(sum(fwd_retransmitted_packets + rev_retransmitted_packets) as double)
        / nullif(sum(fwd_packets + rev_packets), 0) as retransmitted_ratio,
        cast(sum(fwd_out_of_order_packets + rev_out_of_order_packets) as double)
        / nullif(sum(fwd_packets + rev_packets), 0) as out_of_order_ratio,
        cast(sum(fwd_ecn_ce_packets + rev_ecn_ce_packets) as bigint) as ecn_ce_packets
    from flows
    group by dataset, protocol, service
)

select * from final
