{%- set period = ['period_kind', 'period', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set measures = [
    'hosts', 'hosts_above', 'connections', 'connections_above', 'connections_squared', 'connections_times_above',
    'connections_above_squared'
] -%}
with

counted as (
    select * from {{ ref('int_host_period_count') }}
),

thresholds as (
    select * from {{ ref('delay_threshold') }}
),

by_threshold as (
    {%- for number in (1, 2, 3) %}
        {%- if not loop.first %}

            union all
        {% endif %}
        select
            {{ period | join(',\n        ') }},
            access_technology,
            {{ number }} as threshold_number,
            hosts,
            hosts_above_{{ number }} as hosts_above,
            connections,
            connections_above_{{ number }} as connections_above,
            connections_squared,
            connections_times_above_{{ number }} as connections_times_above,
            connections_above_{{ number }}_squared as connections_above_squared
        from counted
    {%- endfor %}
),

-- A host that changes its technology within the period counts once in each.
with_all as (
    select * from by_threshold

    union all

    select
        {{ period | join(',\n        ') }},
        'all' as access_technology,
        threshold_number,
        {{ measures | join(',\n        ') }}
    from by_threshold
),

added_up as (
    select
        {{ period | join(',\n        ') }},
        access_technology,
        threshold_number,
        cast(sum(hosts) as bigint) as hosts,
        cast(sum(hosts_above) as bigint) as hosts_above,
        cast(sum(connections) as bigint) as connections,
        cast(sum(connections_above) as bigint) as connections_above,
        cast(sum(connections_squared) as bigint) as connections_squared,
        cast(sum(connections_times_above) as bigint) as connections_times_above,
        cast(sum(connections_above_squared) as bigint) as connections_above_squared
    from with_all
    group by {{ period | join(', ') }}, access_technology, threshold_number
    having sum(hosts) >= {{ minimum_hosts() }}
),

final as (
    select
        {%- for column in period %}
            added_up.{{ column }},
        {%- endfor %}
        added_up.access_technology,
        cast(thresholds.threshold_us as double) / 1000 as threshold_ms,
        cast(thresholds.threshold_version as int) as threshold_version,
        {%- for measure in measures %}
            added_up.{{ measure }},
        {%- endfor %}
        cast(added_up.hosts_above as double) / added_up.hosts as host_share_above_ratio,
        cast(added_up.connections_above as double) / added_up.connections as connection_share_above_ratio,
        true as is_upper_bound
    from added_up
    inner join thresholds on added_up.threshold_number = thresholds.threshold_number
)

select * from final
