{%- set dimensions = ['hour_of_day', 'detail_level', 'access_technology'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_hour_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        hour_of_day,
        detail_level,
        access_technology,
        bin_index,
        start_month,
        bin_lower_us,
        bin_upper_us,
        connections,
        true as is_upper_bound
    from bins
)

select * from final
