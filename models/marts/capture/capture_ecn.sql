with

ecn_directions as (
    select * from {{ ref('stg_lake__flow_ecn') }}
),

flows as (
    select * from {{ ref('int_capture_flow') }}
),

described as (
    select
        flows.dataset,
        flows.recording_name,
        flows.protocol,
        flows.service,
        flows.first_packet_ns,
        ecn_directions.*,
        ecn_directions.ect0_packets + ecn_directions.ect1_packets + ecn_directions.ce_packets as ecn_capable_packets,
        ecn_directions.ect0_first_options + ecn_directions.ect1_first_options as ecn_options
    from ecn_directions
    inner join flows
        on
            ecn_directions.source_hash = flows.source_hash
            and ecn_directions.flow_id = flows.flow_id
),

-- At least ten segments: fewer may all be retransmissions or window probes, which a sender never makes ECN-capable.
final as (
    select
        dataset,
        source_hash,
        flow_id,
        direction,
        recording_name,
        protocol,
        service,
        {{ utc_date('first_packet_ns') }} as start_date,
        not_ect_packets,
        not_ect_bytes,
        ect0_packets,
        ect0_bytes,
        ect1_packets,
        ect1_bytes,
        ce_packets,
        ce_bytes,
        cast(ce_packets as double) / nullif(ecn_capable_packets, 0) as ce_ratio,
        ecn_mode,
        negotiation,
        fell_back,
        handshake_codepoint,
        handshake_codepoint_reported,
        data_packets,
        ecn_data_packets,
        echoed_ce_packets_min,
        echoed_ce_packets_max,
        echoed_ect0_bytes,
        echoed_ect1_bytes,
        echoed_ce_bytes,
        ace_reports,
        ecn_options,
        option_disagreements,
        stale_reports,
        echo_segments,
        echo_runs,
        reduced_segments,
        case
            when ecn_mode is null or ecn_mode not in ('classic', 'accurate') then null
            when ace_is_zeroed then 'ace_zeroed'
            when handshake_codepoint != handshake_codepoint_reported then 'handshake_codepoint_changed'
            when ecn_data_packets >= 10 and echoed_ect0_bytes + echoed_ect1_bytes + echoed_ce_bytes = 0 then 'bleached_after'
            when
                (echoed_ect0_bytes > 0 and ect0_packets = 0 and ect1_packets > 0)
                or (echoed_ect1_bytes > 0 and ect1_packets = 0 and ect0_packets > 0)
                then 'remarked_after'
            when data_packets >= 10 and ecn_data_packets = 0 then 'not_ect_data'
            when option_disagreements > 0 then 'option_disagrees'
            else 'nothing_changed'
        end as path_verdict
    from described
)

select * from final
