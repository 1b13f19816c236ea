{#- A connection may have extremes but no mean, so hosts are counted separately for each statistic. -#}
{%- set kept = ['part_fingerprint', 'rtt_statistic'] -%}
{%- set levels = [['transfer_size_number', 'ip_version'], ['country'], ['proximity_number'], ['access_technology']] -%}
{%- set dimensions = levels | sum(start=[]) -%}
{%- set columns = {'minimum': 'rtt_min_us', 'mean': 'rtt_mean_us', 'maximum': 'rtt_max_us'} -%}
{%- set connections = ['connections_minimum', 'connections_mean', 'connections_maximum', 'connections_of_hosts'] -%}
with

{{ connections_of_days_to_make('connections', connections) }},

binned as (
    {%- for statistic, column in columns.items() %}
        {{ 'union all' if not loop.first }}
        select
            part_fingerprint,
            '{{ statistic }}' as rtt_statistic,
            {{ dimensions | join(',\n            ') }},
            {{ log_linear_bin(column) }} as bin_index,
            count(*) as connections,
            {{ host_bits('client_host_hash') }} as host_bits
        from connections_{{ statistic }}
        where
            outcome = 'counted'
            and {{ column }} is not null
        group by part_fingerprint, {{ dimensions | join(', ') }}, bin_index
    {%- endfor %}
),

{{ doubtful_cells('binned', kept, levels) }},

statistics as (
    {%- for statistic in columns %}
        {{ 'union all' if not loop.first }}
        select '{{ statistic }}' as rtt_statistic
    {%- endfor %}
),

hosts as (
    select
        connections_of_hosts.part_fingerprint,
        statistics.rtt_statistic,
        {%- for column in dimensions %}
            connections_of_hosts.{{ column }},
        {%- endfor %}
        connections_of_hosts.client_host_hash as host_hash
    from connections_of_hosts
    inner join statistics
        on connections_of_hosts.rtt_mean_us is not null or statistics.rtt_statistic != 'mean'
    where connections_of_hosts.outcome = 'counted'
),

{{ cell_details('hosts', kept, levels) }},

{{ served_cells('binned', kept, levels, withheld={'proximity_number': '-1', 'transfer_size_number': '-1'}) }},

final as (
    select
        part_fingerprint,
        detail_level,
        access_technology,
        proximity_number,
        country,
        transfer_size_number,
        ip_version,
        rtt_statistic,
        bin_index,
        connections
    from served
)

select * from final
