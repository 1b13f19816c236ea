with

{{ connections_of_days_to_make() }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        asn,
        country,
        access_technology,
        {{ log_linear_bin('queuing_delay_us') }} as bin_index,
        inputs_mark,
        count(*) as connections
    from connections
    where
        outcome = 'counted'
        and client_host_key is not null
    group by
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        asn,
        country,
        access_technology,
        bin_index,
        inputs_mark
)

select * from final
