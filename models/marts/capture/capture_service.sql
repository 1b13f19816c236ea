with

by_point as (
    select * from {{ ref('capture_point_service') }}
),

final as (
    select
        dataset,
        protocol,
        service,
        cast(sum(recordings) as bigint) as recordings,
        cast(sum(flows) as bigint) as flows,
        cast(sum(packets) as bigint) as packets,
        cast(sum(bytes) as bigint) as bytes,
        cast(sum(fwd_bytes) as bigint) as fwd_bytes,
        cast(sum(rev_bytes) as bigint) as rev_bytes,
        cast(sum(retransmitted_packets) as bigint) as retransmitted_packets,
        cast(sum(retransmitted_packets) as double) / nullif(sum(packets), 0) as retransmitted_ratio,
        cast(sum(out_of_order_packets) as double) / nullif(sum(packets), 0) as out_of_order_ratio,
        cast(sum(ecn_ce_packets) as bigint) as ecn_ce_packets
    from by_point
    group by dataset, protocol, service
)

select * from final
