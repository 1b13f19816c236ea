with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

added_up as (
    select
        flows.dataset,
        recordings.capture_point,
        flows.protocol,
        flows.service,
        count(distinct flows.source_hash) as recordings,
        count(*) as flows,
        cast(sum(flows.fwd_packets + flows.rev_packets) as bigint) as packets,
        cast(sum(flows.fwd_bytes) as bigint) as fwd_bytes,
        cast(sum(flows.rev_bytes) as bigint) as rev_bytes,
        cast(sum(flows.fwd_retransmitted_packets + flows.rev_retransmitted_packets) as bigint) as retransmitted_packets,
        cast(sum(flows.fwd_out_of_order_packets + flows.rev_out_of_order_packets) as bigint) as out_of_order_packets,
        cast(sum(flows.fwd_ecn_ce_packets + flows.rev_ecn_ce_packets) as bigint) as ecn_ce_packets
    from flows
    inner join recordings on flows.source_hash = recordings.source_hash
    group by flows.dataset, recordings.capture_point, flows.protocol, flows.service
),

final as (
    select
        dataset,
        capture_point,
        protocol,
        service,
        recordings,
        flows,
        packets,
        fwd_bytes + rev_bytes as bytes,
        fwd_bytes,
        rev_bytes,
        retransmitted_packets,
        cast(retransmitted_packets as double) / nullif(packets, 0) as retransmitted_ratio,
        out_of_order_packets,
        cast(out_of_order_packets as double) / nullif(packets, 0) as out_of_order_ratio,
        ecn_ce_packets
    from added_up
)

select * from final
