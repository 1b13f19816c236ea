with

{{ connections_of_days_to_make('connections_with_host') }},

final as (
    select
        part_fingerprint,
        asn,
        country,
        access_technology,
        {{ log_linear_bin('queuing_delay_us') }} as bin_index,
        count(*) as connections
    from connections
    where
        outcome = 'counted'
        and client_host_key is not null
    group by part_fingerprint, asn, country, access_technology, bin_index
)

select * from final
