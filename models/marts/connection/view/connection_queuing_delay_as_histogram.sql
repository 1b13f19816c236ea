{%- set dimensions = ['detail_level', 'access_technology', 'country', 'asn'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_as_month_served'), 'month_part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_month', dimensions) }},
        true as is_upper_bound
    from bins
)

select * from final
