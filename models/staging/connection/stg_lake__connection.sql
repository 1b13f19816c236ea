with

source as (
    select * from {{ source('lake', 'connection') }}
),

final as (
    select
        source_hash,
        decoder_version,
        connection_number,
        dataset,
        start_ns,
        duration_ms,
        client_host_key,
        client_prefix_key,
        ip_version,
        asn,
        country,
        access_technology,
        access_technology_rule,
        rtt_basis,
        sample_basis,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us,
        kernel_min_rtt_us,
        sent_bytes,
        acked_bytes,
        received_bytes,
        retransmitted_packets,
        congestion_control,
        synthetic
    from source
)

select * from final
