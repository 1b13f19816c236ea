with

{{ systems_served(ref('int_queuing_delay_as_month')) }},

final as (
    select
        month_part_fingerprint,
        detail_level,
        access_technology,
        country,
        asn,
        bin_index,
        connections
    from served
)

select * from final
