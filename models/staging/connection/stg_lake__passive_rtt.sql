with

source as (
    select * from {{ source('lake', 'passive_rtt') }}
),

final as (
    select
        source_hash,
        decoder_version,
        row_number,
        dataset,
        hour_start_ns,
        client_host_key,
        client_prefix_key,
        ip_version,
        asn,
        country,
        access_technology,
        circuit_key,
        site_key,
        plan_down_bps,
        plan_up_bps,
        rtt_samples,
        rtt_sum_us,
        rtt_min_us,
        rtt_max_us,
        synthetic
    from source
)

select * from final
