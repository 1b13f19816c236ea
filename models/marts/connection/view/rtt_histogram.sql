{%- set dimensions = ['access_technology', 'rtt_statistic'] -%}
with

{{ bins_of_parts(ref('int_rtt_technology_day'), 'part_fingerprint', dimensions) }},

final as (
    select
        {{ columns_of_bins('start_date', dimensions) }}
    from bins
)

select * from final
