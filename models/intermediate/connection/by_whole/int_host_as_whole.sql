{%- set kept = ['whole_part_fingerprint'] -%}
{%- set levels = [['asn'], ['country'], ['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
{%- set host = ['asn', 'country', 'access_technology', 'client_host_key'] -%}
with

{{ parts_to_make('whole_part_fingerprint', of='connections_with_host') }},

host_months as (
    select * from {{ ref('int_host_month') }}
),

-- If two places selected from one CTE, DuckDB would keep all of its rows in memory.
host_months_again as (
    select * from {{ ref('int_host_month') }}
),

month_parts as (
    select distinct
        month_part_fingerprint,
        whole_part_fingerprint
    from parts
),

each_host as (
    select
        month_parts.whole_part_fingerprint,
        {%- for column in host %}
            host_months.{{ column }},
        {%- endfor %}
        max(host_months.maximum_queuing_delay_us) as maximum_queuing_delay_us
    from host_months
    inner join month_parts on host_months.month_part_fingerprint = month_parts.month_part_fingerprint
    group by month_parts.whole_part_fingerprint, host_months.{{ host | join(', host_months.') }}
),

binned as (
    select
        {{ cell | join(',\n        ') }},
        {{ log_linear_bin('maximum_queuing_delay_us') }} as bin_index,
        -- This counts hosts, but the macros for suppression read the column by the name `connections`.
        count(*) as connections,
        {{ host_bits(key_hash('client_host_key')) }} as host_bits
    from each_host
    group by {{ cell | join(', ') }}, bin_index
),

{{ doubtful_cells('binned', kept, levels) }},

hosts as (
    select
        month_parts.whole_part_fingerprint,
        host_months_again.asn,
        host_months_again.country,
        host_months_again.access_technology,
        {{ key_hash('host_months_again.client_host_key') }} as host_hash
    from host_months_again
    inner join month_parts on host_months_again.month_part_fingerprint = month_parts.month_part_fingerprint
),

{{ cell_details('hosts', kept, levels) }},

{{ served_cells('binned', kept, levels, withheld={'asn': '-1'}) }},

final as (
    select
        whole_part_fingerprint,
        detail_level,
        access_technology,
        country,
        asn,
        bin_index,
        connections as hosts
    from served
)

select * from final
