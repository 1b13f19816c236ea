{%- set dimensions = ['country', 'ip_version'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_country_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        country,
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
