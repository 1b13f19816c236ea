{%- set cell = ['asn', 'country', 'access_technology', 'rtt_statistic', 'bin_index'] -%}
with

{{ days_added_to_months(ref('int_rtt_as_day'), 'connections_with_host', cell, ['connections']) }},

final as (
    select * from months
)

select * from final
