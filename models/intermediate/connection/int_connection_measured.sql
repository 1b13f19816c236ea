with

reported_connections as (
    select * from {{ ref('stg_lake__connection') }}
),

captured_connections as (
    select * from {{ ref('int_capture_connection') }}
),

limits as (
    select * from {{ ref('int_connection_class_limit') }}
),

connections as (
    select
        source_hash,
        connection_number,
        start_ns,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        client_host_key,
        access_technology,
        country,
        ip_version,
        asn,
        sent_bytes,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us
    from reported_connections

    union all

    select
        source_hash,
        connection_number,
        start_ns,
        dataset,
        false as synthetic,
        rtt_basis,
        sample_basis,
        client_host_key,
        cast(null as string) as access_technology,
        cast(null as string) as country,
        ip_version,
        cast(null as bigint) as asn,
        sent_bytes,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us
    from captured_connections
),

judged as (
    select
        connections.source_hash,
        connections.connection_number,
        {{ utc_date('connections.start_ns') }} as start_date,
        cast({{ integer_divide('connections.start_ns', 3600000000000) }} % 24 as int) as hour_of_day,
        connections.dataset,
        connections.synthetic,
        connections.rtt_basis,
        connections.sample_basis,
        connections.client_host_key,
        connections.rtt_min_us,
        connections.rtt_max_us,
        -- Dimensions of a cell are never null: a null equals nothing, so suppression would miss a small cell that has one.
        coalesce(connections.access_technology, 'unknown') as access_technology,
        coalesce(connections.country, 'unknown') as country,
        coalesce(cast(connections.ip_version as string), 'unknown') as ip_version,
        coalesce(connections.asn, 0) as asn,
        cast(floor(connections.rtt_avg_us) as bigint) as rtt_mean_us,
        case
            when connections.sent_bytes is null then 0
            when connections.sent_bytes <= limits.transfer_size_1_bytes then 1
            when connections.sent_bytes <= limits.transfer_size_2_bytes then 2
            when connections.sent_bytes <= limits.transfer_size_3_bytes then 3
            else 4
        end as transfer_size_number,
        case
            when connections.rtt_min_us <= limits.proximity_1_us then 1
            when connections.rtt_min_us <= limits.proximity_2_us then 2
            when connections.rtt_min_us <= limits.proximity_3_us then 3
            else 4
        end as proximity_number,
        limits.threshold_1_us,
        limits.threshold_2_us,
        limits.threshold_3_us,
        {{
            connection_outcome(
                'connections.rtt_min_us', 'connections.rtt_max_us', 'connections.sample_basis', 'connections.rtt_samples'
            )
        }} as outcome
    from connections
    cross join limits
),

final as (
    select
        source_hash,
        connection_number,
        start_date,
        hour_of_day,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        country,
        asn,
        ip_version,
        proximity_number,
        transfer_size_number,
        client_host_key,
        -- Engines hash null to a number, so all connections without a host would count as one host.
        case when client_host_key is not null then {{ key_hash('client_host_key') }} end as client_host_hash,
        rtt_min_us,
        rtt_mean_us,
        rtt_max_us,
        outcome,
        case when outcome = 'counted' then rtt_max_us - rtt_min_us end as queuing_delay_us,
        threshold_1_us,
        threshold_2_us,
        threshold_3_us
    from judged
)

select * from final
