with

source as (
    select * from {{ source('lake', 'run_flow') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        flow_number,
        role,
        protocol,
        source_host_key,
        source_prefix_key,
        source_port,
        destination_host_key,
        destination_prefix_key,
        destination_port,
        rule_host_key,
        rule_host_bits,
        rule_first_port,
        rule_last_port,
        rule_server_names,
        rule_more_than_bytes,
        rule_is_first,
        congestion_control,
        application,
        ssrc,
        rtp_payload_type,
        planned_start_ms
    from source
)

select * from final
