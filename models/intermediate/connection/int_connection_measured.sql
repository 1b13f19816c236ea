with

connections as (
    select * from {{ ref('stg_lake__connection') }}
),

limits as (
    select * from {{ ref('int_connection_class_limit') }}
),

judged as (
    select
        connections.source_hash,
        connections.connection_number,
        {{ utc_date('connections.start_ns') }} as start_date,
        connections.dataset,
        connections.synthetic,
        connections.rtt_basis,
        connections.sample_basis,
        connections.client_host_key,
        connections.rtt_min_us,
        connections.rtt_max_us,
        -- No dimension of a cell is ever missing: a cell that equals nothing would not be found to be a small one.
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
        -- Only counts of true samples are held against the filter. One poll shows one value, and so no spread.
        case
            when connections.rtt_min_us is null and connections.rtt_max_us is null then 'no_rtt'
            when connections.rtt_min_us is null then 'no_minimum_rtt'
            when connections.rtt_max_us is null then 'no_maximum_rtt'
            when connections.rtt_min_us < 0 or connections.rtt_max_us < connections.rtt_min_us then 'maximum_below_minimum'
            when connections.sample_basis = 'rtt_samples' and connections.rtt_samples is null then 'samples_not_counted'
            when connections.sample_basis = 'rtt_samples' and connections.rtt_samples < 10 then 'fewer_than_10_samples'
            when connections.sample_basis = 'polls' and coalesce(connections.rtt_samples, 0) < 2 then 'fewer_than_2_polls'
            else 'counted'
        end as outcome
    from connections
    cross join limits
),

final as (
    select
        source_hash,
        connection_number,
        start_date,
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
        -- A hash of null is a number: connections without a host would count as one host.
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
