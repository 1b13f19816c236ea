{%- set dimensions = ['access_technology', 'proximity_class', 'transfer_size_class'] -%}
with

{{ bins_of_parts(ref('int_queuing_delay_technology_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_date', dimensions) }},
        true as is_upper_bound
    from bins
)

select * from final
