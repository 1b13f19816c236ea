{%- set dimensions = ['detail_level', 'access_technology', 'proximity_class', 'country', 'transfer_size_class', 'ip_version'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_day'), 'part_fingerprint', dimensions) }},

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
        bin_index,
        start_month,
        bin_lower_us,
        bin_upper_us,
        connections,
        true as is_upper_bound
    from bins
)

select * from final
