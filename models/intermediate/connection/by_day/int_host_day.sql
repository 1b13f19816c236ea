with

{{ connections_of_days_to_make('connections_with_host') }},

final as (
    select
        part_fingerprint,
        asn,
        country,
        access_technology,
        client_host_key,
        count(*) as connections,
        max(queuing_delay_us) as maximum_queuing_delay_us,
        count(*) filter (where queuing_delay_us > threshold_1_us) as connections_above_1,
        count(*) filter (where queuing_delay_us > threshold_2_us) as connections_above_2,
        count(*) filter (where queuing_delay_us > threshold_3_us) as connections_above_3
    from connections
    where
        outcome = 'counted'
        and client_host_key is not null
    group by part_fingerprint, asn, country, access_technology, client_host_key
)

select * from final
