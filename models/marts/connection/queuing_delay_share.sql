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
        {{ 'union all' if not loop.first }}
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
    from by_threshold
    group by {{ period | join(', ') }}, access_technology, threshold_number
),

ranked as (
    select
        *,
        sum(case when access_technology != 'all' and hosts < {{ minimum_hosts() }} then hosts else 0 end)
            over (partition by {{ period | join(', ') }}, threshold_number) as hosts_hidden,
        -- A host that changes technology within the period counts once in each and once in all, which shows how many hosts did.
        sum(case when access_technology = 'all' then -hosts else hosts end)
            over (partition by {{ period | join(', ') }}, threshold_number) as hosts_changed,
        row_number()
            over (
                partition by {{ period | join(', ') }}, threshold_number
                order by
                    case when access_technology != 'all' and hosts >= {{ minimum_hosts() }} then 0 else 1 end,
                    hosts,
                    access_technology
            ) as large_enough_rank
    from added_up
),

-- The difference between `all` and the others reveals what was withheld: if it has too few hosts, the smallest of the others is withheld
-- too. Hosts that changed technology do not help: connections add up, so the difference contains only the connections of hidden hosts.
served as (
    select * from ranked
    where
        hosts >= {{ minimum_hosts() }}
        and (
            access_technology = 'all'
            or large_enough_rank > 1
            or (
                (hosts_hidden = 0 or hosts_hidden >= {{ minimum_hosts() }})
                and (hosts_hidden + hosts_changed = 0 or hosts_hidden + hosts_changed >= {{ minimum_hosts() }})
            )
        )
),

final as (
    select
        {%- for column in period %}
            served.{{ column }},
        {%- endfor %}
        served.access_technology,
        cast(thresholds.threshold_us as double) / 1000 as threshold_ms,
        cast(thresholds.threshold_version as int) as threshold_version,
        {%- for measure in measures %}
            served.{{ measure }},
        {%- endfor %}
        cast(served.hosts_above as double) / served.hosts as host_share_above_ratio,
        cast(served.connections_above as double) / served.connections as connection_share_above_ratio,
        true as is_upper_bound
    from served
    inner join thresholds on served.threshold_number = thresholds.threshold_number
)

select * from final
