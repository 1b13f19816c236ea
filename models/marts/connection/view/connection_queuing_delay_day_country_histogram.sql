{%- set dimensions = ['country', 'ip_version'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_country_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_date', dimensions) }},
        true as is_upper_bound
    from bins
)

select * from final
