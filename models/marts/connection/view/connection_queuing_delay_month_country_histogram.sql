{%- set dimensions = ['country', 'access_technology', 'ip_version'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_country_month'), 'month_part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_month', dimensions) }},
        true as is_upper_bound
    from bins
)

select * from final
