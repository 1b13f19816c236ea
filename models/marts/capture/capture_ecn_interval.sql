with

ecn_intervals as (
    select * from {{ ref('stg_lake__flow_ecn_interval') }}
),

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

flows as (
    select * from {{ ref('int_capture_flow') }}
),

final as (
    select
        flows.dataset,
        ecn_intervals.source_hash,
        ecn_intervals.flow_id,
        ecn_intervals.direction,
        ecn_intervals.interval_start_ns,
        flows.recording_name,
        flows.protocol,
        flows.service,
        ecn_intervals.interval_ms,
        cast(ecn_intervals.interval_start_ns - flows.first_packet_ns as double) / 1000000000 as flow_time_s,
        flow_intervals.packets - ecn_intervals.ect0_packets - ecn_intervals.ect1_packets - ecn_intervals.ce_packets as not_ect_packets,
        flow_intervals.bytes - ecn_intervals.ect0_bytes - ecn_intervals.ect1_bytes - ecn_intervals.ce_bytes as not_ect_bytes,
        ecn_intervals.ect0_packets,
        ecn_intervals.ect0_bytes,
        ecn_intervals.ect1_packets,
        ecn_intervals.ect1_bytes,
        ecn_intervals.ce_packets,
        ecn_intervals.ce_bytes,
        cast(ecn_intervals.ce_packets as double)
        / nullif(ecn_intervals.ect0_packets + ecn_intervals.ect1_packets + ecn_intervals.ce_packets, 0) as ce_ratio
    from ecn_intervals
    inner join flow_intervals
        on
            ecn_intervals.source_hash = flow_intervals.source_hash
            and ecn_intervals.flow_id = flow_intervals.flow_id
            and ecn_intervals.direction = flow_intervals.direction
            and ecn_intervals.interval_start_ns = flow_intervals.interval_start_ns
    inner join flows
        on
            ecn_intervals.source_hash = flows.source_hash
            and ecn_intervals.flow_id = flows.flow_id
)

select * from final
