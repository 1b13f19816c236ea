with

source as (
    select * from {{ source('lake', 'flow_ecn') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        not_ect_packets,
        not_ect_bytes,
        ect0_packets,
        ect0_bytes,
        ect1_packets,
        ect1_bytes,
        ce_packets,
        ce_bytes,
        ecn_mode,
        negotiation,
        fell_back,
        syn_flags,
        syn_ack_flags,
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
        ace_is_zeroed,
        ect0_first_options,
        ect1_first_options,
        option_disagreements,
        option_counters_backwards,
        stale_reports,
        echo_segments,
        echo_runs,
        reduced_segments
    from source
)

select * from final
