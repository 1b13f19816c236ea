{%- set kept = ['part_fingerprint'] -%}
{%- set levels = [['transfer_size_number', 'ip_version'], ['country'], ['proximity_number'], ['access_technology']] -%}
with

{{ queuing_delays_served(kept, levels, withheld={'proximity_number': '-1', 'transfer_size_number': '-1'}) }},

final as (
    select
        part_fingerprint,
        detail_level,
        access_technology,
        proximity_number,
        country,
        transfer_size_number,
        ip_version,
        bin_index,
        connections
    from served
)

select * from final
