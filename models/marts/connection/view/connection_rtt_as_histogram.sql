{%- set dimensions = ['detail_level', 'access_technology', 'country', 'asn', 'rtt_statistic'] -%}
with

{{ bins_of_parts(ref('int_rtt_as_month_served'), 'month_part_fingerprint', dimensions) }},

final as (
    select
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        detail_level,
        access_technology,
        country,
        asn,
        rtt_statistic,
        bin_index,
        bin_lower_us,
        bin_upper_us,
        connections
    from bins
)

select * from final
