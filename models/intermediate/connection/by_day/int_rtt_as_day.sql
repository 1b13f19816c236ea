{#-
    No means: suppression counts the hosts of int_host_month, and these have a minimum and a maximum RTT, but some may have no mean.
-#}
{%- set columns = {'minimum': 'rtt_min_us', 'maximum': 'rtt_max_us'} -%}
with

{{ connections_of_days_to_make('connections_with_host', ['connections_minimum', 'connections_maximum']) }},

final as (
    {%- for statistic, column in columns.items() %}
        {{ 'union all' if not loop.first }}
        select
            part_fingerprint,
            asn,
            country,
            access_technology,
            '{{ statistic }}' as rtt_statistic,
            {{ log_linear_bin(column) }} as bin_index,
            count(*) as connections
        from connections_{{ statistic }}
        where
            outcome = 'counted'
            and client_host_key is not null
        group by part_fingerprint, asn, country, access_technology, bin_index
    {%- endfor %}
)

select * from final
