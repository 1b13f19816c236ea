with

{{ systems_served(ref('int_rtt_as_month'), carried=['rtt_statistic']) }},

final as (
    select
        month_part_fingerprint,
        detail_level,
        access_technology,
        country,
        asn,
        rtt_statistic,
        bin_index,
        connections
    from served
)

select * from final
