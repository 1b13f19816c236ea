{%- set dimensions = ['hour_of_day', 'detail_level', 'access_technology'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_hour_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_date', dimensions) }},
        true as is_upper_bound
    from bins
)

select * from final
