{%- set kept = ['part_fingerprint', 'hour_of_day'] -%}
{%- set levels = [['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
with

{{ connections_of_days_to_make('connections', ['connections', 'connections_of_hosts']) }},

binned as (
    select
        {{ cell | join(',\n        ') }},
        {{ log_linear_bin('queuing_delay_us') }} as bin_index,
        count(*) as connections,
        {{ host_bits('client_host_hash') }} as host_bits
    from connections
    where outcome = 'counted'
    group by {{ cell | join(', ') }}, bin_index
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

{{ served_cells('binned', kept, levels) }},

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
