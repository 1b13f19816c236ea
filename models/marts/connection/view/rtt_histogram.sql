{%- set dimensions = ['access_technology', 'rtt_statistic'] -%}
with

{{ bins_of_parts(ref('int_rtt_technology_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        rtt_statistic,
        bin_index,
        start_month,
        bin_lower_us,
        bin_upper_us,
        connections
    from bins
)

select * from final
