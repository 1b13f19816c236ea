{%- set dimensions = ['detail_level', 'access_technology', 'country', 'asn', 'rtt_statistic'] -%}
with

{{ bins_of_parts(ref('int_rtt_as_month_served'), 'month_part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_month', dimensions) }}
    from bins
)

select * from final
