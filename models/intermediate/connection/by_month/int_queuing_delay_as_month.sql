{%- set kept = ['month_part_mark'] -%}
{%- set levels = [['asn'], ['country'], ['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
with

{{ parts_to_make('month_part_mark', of='connections_with_host') }},

hosts_of_months as (
    select * from {{ ref('int_host_month') }}
),

as_days as (
    select * from {{ ref('int_queuing_delay_as_day') }}
),

month_parts as (
    select distinct month_part_mark from parts
),

host_months as (
    select
        {%- for column in cell %}
            hosts_of_months.{{ column }},
        {%- endfor %}
        {{ key_hash('hosts_of_months.client_host_key') }} as host_hash
    from hosts_of_months
    inner join month_parts on hosts_of_months.month_part_mark = month_parts.month_part_mark
),

counted as (
    select
        {{ cell | join(',\n        ') }},
        {{ host_bits('host_hash') }} as host_bits
    from host_months
    group by {{ cell | join(', ') }}
),

{{ doubtful_cells('counted', kept, levels) }},

{{ cell_details('host_months', kept, levels) }},

binned as (
    select
        parts.month_part_mark,
        as_days.asn,
        as_days.country,
        as_days.access_technology,
        as_days.bin_index,
        cast(sum(as_days.connections) as bigint) as connections
    from as_days
    inner join parts on as_days.part_mark = parts.part_mark
    group by
        parts.month_part_mark,
        as_days.asn,
        as_days.country,
        as_days.access_technology,
        as_days.bin_index
),

{{ served_cells('binned', kept, levels, withheld={'asn': '-1'}) }},

final as (
    select
        month_part_mark,
        detail_level,
        access_technology,
        country,
        asn,
        bin_index,
        connections
    from served
)

select * from final
