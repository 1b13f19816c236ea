{#- Columns of `counts_of_hosts`, without the fingerprint of the part. -#}
{% macro host_count_columns() -%}
    {%- set columns = ['access_technology', 'bin_index', 'hosts', 'connections', 'connections_squared'] -%}
    {%- for number in (1, 2, 3) -%}
        {%- do columns.extend([
            'hosts_above_' ~ number, 'connections_above_' ~ number, 'connections_times_above_' ~ number,
            'connections_above_' ~ number ~ '_squared',
        ]) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}

{#-
    CTEs that end in `counts_of_hosts`: hosts by the bin of their maximum delay, with the sums that give shares and their variance between
    hosts, by access technology and, as technology `all`, over all of them. A host that changed technology counts once in `all`.

    hosts: CTE of hosts, any number of rows for each host. fingerprint: column of hosts with the part over which they are counted.
-#}
{% macro counts_of_hosts(hosts, fingerprint) -%}
{%- set measures = ['connections', 'connections_above_1', 'connections_above_2', 'connections_above_3'] -%}
each_host as (
    select
        {{ fingerprint }},
        case when grouping(access_technology) = 1 then 'all' else access_technology end as technology_or_all,
        {%- for measure in measures %}
        cast(sum({{ measure }}) as bigint) as {{ measure }},
        {%- endfor %}
        max(maximum_queuing_delay_us) as maximum_queuing_delay_us
    from {{ hosts }}
    group by
        grouping sets (
            ({{ fingerprint }}, access_technology, client_host_key),
            ({{ fingerprint }}, client_host_key)
        )
),

counts_of_hosts as (
    select
        {{ fingerprint }},
        technology_or_all as access_technology,
        {{ log_linear_bin('maximum_queuing_delay_us') }} as bin_index,
        count(*) as hosts,
        cast(sum(connections) as bigint) as connections,
        cast(sum(connections * connections) as bigint) as connections_squared,
    {%- for number in (1, 2, 3) %}
        count(*) filter (where connections_above_{{ number }} > 0) as hosts_above_{{ number }},
        cast(sum(connections_above_{{ number }}) as bigint) as connections_above_{{ number }},
        cast(sum(connections * connections_above_{{ number }}) as bigint) as connections_times_above_{{ number }},
        cast(sum(connections_above_{{ number }} * connections_above_{{ number }}) as bigint) as connections_above_{{ number }}_squared
        {{- '' if loop.last else ',' }}
    {%- endfor %}
    from each_host
    group by {{ fingerprint }}, technology_or_all, bin_index
)
{%- endmacro %}
