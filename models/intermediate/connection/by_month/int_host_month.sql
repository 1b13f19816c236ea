{%- set cell = ['asn', 'country', 'access_technology', 'client_host_key'] -%}
{%- set counts = ['connections', 'connections_above_1', 'connections_above_2', 'connections_above_3'] -%}
with

{{ days_added_to_months(ref('int_host_day'), 'connections_with_host', cell, counts, maxima=['maximum_queuing_delay_us']) }},

final as (
    select
        month_part_fingerprint,
        asn,
        country,
        access_technology,
        client_host_key,
        connections,
        maximum_queuing_delay_us,
        connections_above_1,
        connections_above_2,
        connections_above_3
    from months
)

select * from final
