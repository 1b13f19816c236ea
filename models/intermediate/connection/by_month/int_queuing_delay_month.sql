{#- Sums of what the cube serves, so they disclose nothing about suppressed cells. -#}
{%- set cell = ['access_technology', 'proximity_number', 'country', 'transfer_size_number', 'ip_version', 'bin_index'] -%}
{%- set served = 'days_of_parts.bin_index is not null' -%}
with

{{ days_added_to_months(ref('int_queuing_delay_day'), 'connections', cell, ['connections'], where=served) }},

final as (
    select * from months
)

select * from final
