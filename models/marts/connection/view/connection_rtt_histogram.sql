{%- set dimensions = [
    'detail_level', 'access_technology', 'proximity_class', 'country', 'transfer_size_class', 'ip_version',
    'rtt_statistic'
] -%}
with

{{ bins_of_parts(ref('int_rtt_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_date', dimensions) }}
    from bins
)

select * from final
