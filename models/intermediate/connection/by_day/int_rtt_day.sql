{%- set kept = ['part_mark'] -%}
{%- set levels = [['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
{%- set columns = {'minimum': 'rtt_min_us', 'mean': 'rtt_mean_us', 'maximum': 'rtt_max_us'} -%}
with

{{ connections_of_days_to_make(['connections_minimum', 'connections_mean', 'connections_maximum', 'connections_of_hosts']) }},

binned as (
    {%- for statistic, column in columns.items() %}
        {%- if not loop.first %}

            union all
        {% endif %}
        select
            {{ cell | join(',\n        ') }},
            '{{ statistic }}' as rtt_statistic,
            {{ log_linear_bin(column) }} as bin_index,
            count(*) as connections,
            {{ host_bits('client_host_hash') if statistic == 'minimum' else 'cast(null as bigint)' }} as host_bits
        from connections_{{ statistic }}
        where
            outcome = 'counted'
            and {{ column }} is not null
        group by {{ cell | join(', ') }}, bin_index
    {%- endfor %}
),

{{ doubtful_cells('binned', kept, levels) }},

hosts as (
    select
        {{ cell | join(',\n        ') }},
        client_host_hash as host_hash
    from connections_of_hosts
    where outcome = 'counted'
),

{{ cell_details('hosts', kept, levels) }},

{{ served_cells('binned', kept, levels, distribution=['rtt_statistic']) }},

final as (
    select
        part_mark,
        access_technology,
        rtt_statistic,
        bin_index,
        connections
    from served
    where bin_index is not null
)

select * from final
