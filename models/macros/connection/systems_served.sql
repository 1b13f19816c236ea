{#-
    CTE `served`: the served bins of autonomous systems by month, for the parts that a table does not contain yet.

    systems: relation of bins by autonomous system. carried: columns of systems that distinguish distributions of the same hosts.
-#}
{% macro systems_served(systems, carried=[]) -%}
{%- set kept = ['month_part_fingerprint'] -%}
{%- set levels = [['asn'], ['country'], ['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
{{ parts_to_make('month_part_fingerprint', of='connections_with_host') }},

hosts_of_months as (
    select * from {{ ref('int_host_month') }}
),

-- If two places selected from one CTE, DuckDB would keep all of its rows in memory.
hosts_of_months_again as (
    select * from {{ ref('int_host_month') }}
),

systems_of_months as (
    select * from {{ systems }}
),

month_parts as (
    select distinct month_part_fingerprint from parts
),

host_months as (
    select
        {%- for column in cell %}
            hosts_of_months.{{ column }},
        {%- endfor %}
        {{ key_hash('hosts_of_months.client_host_key') }} as host_hash
    from hosts_of_months
    inner join month_parts on hosts_of_months.month_part_fingerprint = month_parts.month_part_fingerprint
),

host_months_of_cells as (
    select
        {%- for column in cell %}
            hosts_of_months_again.{{ column }},
        {%- endfor %}
        {{ key_hash('hosts_of_months_again.client_host_key') }} as host_hash
    from hosts_of_months_again
    inner join month_parts on hosts_of_months_again.month_part_fingerprint = month_parts.month_part_fingerprint
),

counted as (
    select
        {{ cell | join(',\n        ') }},
        {{ host_bits('host_hash') }} as host_bits
    from host_months
    group by {{ cell | join(', ') }}
),

{{ doubtful_cells('counted', kept, levels) }},

{{ cell_details('host_months_of_cells', kept, levels) }},

binned as (
    select systems_of_months.*
    from systems_of_months
    inner join month_parts on systems_of_months.month_part_fingerprint = month_parts.month_part_fingerprint
),

{{ served_cells('binned', kept, levels, withheld={'asn': '-1'}, carried=carried) }}
{%- endmacro %}
