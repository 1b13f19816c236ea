{%- set kept = ['part_fingerprint', 'hour_of_day'] -%}
{%- set levels = [['access_technology']] -%}
with

{{ queuing_delays_served(kept, levels) }},

final as (
    select
        part_fingerprint,
        hour_of_day,
        detail_level,
        access_technology,
        bin_index,
        connections
    from served
)

select * from final
