{%- set dimensions = [
    'detail_level', 'access_technology', 'proximity_class', 'country', 'transfer_size_class', 'ip_version',
    'rtt_statistic'
] -%}
with

{{ bins_of_parts(ref('int_rtt_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        detail_level,
        access_technology,
        proximity_class,
        country,
        transfer_size_class,
        ip_version,
        rtt_statistic,
        bin_index,
        start_month,
        bin_lower_us,
        bin_upper_us,
        connections
    from bins
)

select * from final
