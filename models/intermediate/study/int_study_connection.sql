-- Figures are counted from the connections, so shares at a threshold are exact. The bins of the marts of connections are not.
with

connections as (
    select * from {{ ref('int_connection_measured') }}
),

findings as (
    select * from {{ ref('published_finding') }}
),

of_studies as (
    select
        *,
        outcome = 'counted' as is_counted,
        outcome = 'counted' and rtt_min_us <= 100000 as is_near
    from connections
    where dataset in (select findings.study_id from findings)
),

counted as (
    select
        dataset as study_id,
        max(case when synthetic then 1 else 0 end) = 1 as synthetic,
        count(*) as connections,
        count(distinct client_host_hash) as client_hosts,
        count(distinct nullif(asn, 0)) as autonomous_systems,
        {%- for technology in ['adsl', 'cable', 'ftth'] %}
            count(case when access_technology = '{{ technology }}' then 1 end) as {{ technology }}_connections,
            count(distinct case when access_technology = '{{ technology }}' then client_host_hash end) as {{ technology }}_hosts,
        {%- endfor %}
        count(case when is_counted then 1 end) as counted_connections,
        count(distinct case when is_counted then client_host_hash end) as counted_hosts,
        count(case when is_near then 1 end) as near_connections,
        count(distinct case when is_near then client_host_hash end) as near_hosts,
        count(case when is_counted and queuing_delay_us < 100000 then 1 end) as connections_below_100_ms,
        count(case when is_counted and queuing_delay_us > 500000 then 1 end) as connections_above_500_ms,
        count(case when is_counted and queuing_delay_us > 1000000 then 1 end) as connections_above_1000_ms,
        count(distinct case when is_counted and queuing_delay_us > 500000 then client_host_hash end) as hosts_above_500_ms,
        count(distinct case when is_counted and queuing_delay_us > 1000000 then client_host_hash end) as hosts_above_1000_ms,
        count(case when is_near and queuing_delay_us < 100000 then 1 end) as near_connections_below_100_ms,
        count(case when is_near and queuing_delay_us < 1000000 then 1 end) as near_connections_below_1000_ms
    from of_studies
    group by dataset
),

named as (
    {%- for metric, value, over, hosts, unit in [
        ('connections', 'connections', none, 'client_hosts', 'connection'),
        ('client_hosts', 'client_hosts', none, 'client_hosts', 'host'),
        ('autonomous_systems', 'autonomous_systems', none, 'client_hosts', 'connection'),
        ('connection_share_adsl_ratio', 'adsl_connections', 'connections', 'adsl_hosts', 'connection'),
        ('connection_share_cable_ratio', 'cable_connections', 'connections', 'cable_hosts', 'connection'),
        ('connection_share_ftth_ratio', 'ftth_connections', 'connections', 'ftth_hosts', 'connection'),
        ('connection_share_below_100_ms_ratio', 'connections_below_100_ms', 'counted_connections', 'counted_hosts', 'connection'),
        ('connection_share_above_500_ms_ratio', 'connections_above_500_ms', 'counted_connections', 'counted_hosts', 'connection'),
        ('connection_share_above_1000_ms_ratio', 'connections_above_1000_ms', 'counted_connections', 'counted_hosts', 'connection'),
        ('host_share_above_500_ms_ratio', 'hosts_above_500_ms', 'counted_hosts', 'counted_hosts', 'host'),
        ('host_share_above_1000_ms_ratio', 'hosts_above_1000_ms', 'counted_hosts', 'counted_hosts', 'host'),
        ('near_connection_share_below_100_ms_ratio', 'near_connections_below_100_ms', 'near_connections', 'near_hosts', 'connection'),
        ('near_connection_share_below_1000_ms_ratio', 'near_connections_below_1000_ms', 'near_connections', 'near_hosts', 'connection'),
    ] %}
        {{ 'union all' if not loop.first }}
        select
            study_id,
            synthetic,
            '{{ metric }}' as metric,
            '{{ unit }}' as population,
            {{ over or ('client_hosts' if unit == 'host' else 'connections') }} as units,
            {{ hosts }} as hosts,
            client_hosts - {{ hosts }} as other_hosts,
            cast({{ value }} as double){{ ' / nullif(' ~ over ~ ', 0)' if over else '' }} as metric_value
        from counted
    {%- endfor %}
),

-- As in all marts of connections, a figure needs enough hosts. So do the hosts that it leaves out, because a difference from the total
-- would reveal them.
final as (
    select
        study_id,
        synthetic,
        metric,
        population,
        units,
        metric_value
    from named
    where
        metric_value is not null
        and hosts >= {{ minimum_hosts() }}
        and (other_hosts = 0 or other_hosts >= {{ minimum_hosts() }})
)

select * from final
