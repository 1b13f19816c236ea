-- A build recounts some days, keeps others, and continues months from stored rows. No table of days or months may lose a connection or
-- count it twice.
with

expected as (
    select
        part_fingerprint,
        month_part_fingerprint,
        connections
    from {{ ref('int_connection_part') }}
),

by_outcome as (
    select
        part_fingerprint,
        sum(connections) as connections,
        sum(connections) filter (where outcome = 'counted') as counted
    from {{ ref('int_connection_count_day') }}
    group by part_fingerprint
),

cells as (
    select
        part_fingerprint,
        sum(connections) as counted,
        sum(connections) filter (where bin_index is not null) as served
    from {{ ref('int_queuing_delay_day') }}
    group by part_fingerprint
),

rtts as (
    select
        part_fingerprint,
        sum(connections) filter (where rtt_statistic = 'minimum') as counted,
        sum(connections) filter (where rtt_statistic = 'maximum') as counted_again,
        sum(connections) filter (where bin_index is not null) as served
    from {{ ref('int_rtt_day') }}
    group by part_fingerprint
),

rtts_of_technologies as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_rtt_technology_day') }}
    group by part_fingerprint
),

pairs as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_rtt_min_max_day') }}
    group by part_fingerprint
),

hosts as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_host_day') }}
    group by part_fingerprint
),

systems as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_as_day') }}
    group by part_fingerprint
),

rtts_of_systems as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_rtt_as_day') }}
    group by part_fingerprint
),

of_countries as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_country_day') }}
    group by part_fingerprint
),

of_technologies as (
    select
        part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_technology_day') }}
    group by part_fingerprint
),

months as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_month') }}
    group by month_part_fingerprint
),

months_of_countries as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_country_month') }}
    group by month_part_fingerprint
),

months_of_technologies as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_technology_month') }}
    group by month_part_fingerprint
),

months_of_hosts as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_host_month') }}
    group by month_part_fingerprint
),

months_of_systems as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_as_month') }}
    group by month_part_fingerprint
),

months_served as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_as_month_served') }}
    group by month_part_fingerprint
),

months_of_rtts as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_rtt_as_month') }}
    group by month_part_fingerprint
),

rtts_served as (
    select
        month_part_fingerprint,
        sum(connections) as counted
    from {{ ref('int_rtt_as_month_served') }}
    group by month_part_fingerprint
),

expected_months as (
    select
        expected.month_part_fingerprint,
        sum(coalesce(cells.served, 0)) as served,
        sum(coalesce(hosts.counted, 0)) as of_hosts
    from expected
    left join cells on expected.part_fingerprint = cells.part_fingerprint
    left join hosts on expected.part_fingerprint = hosts.part_fingerprint
    group by expected.month_part_fingerprint
)

select
    expected.part_fingerprint,
    expected.connections
from expected
left join by_outcome on expected.part_fingerprint = by_outcome.part_fingerprint
left join cells on expected.part_fingerprint = cells.part_fingerprint
left join rtts on expected.part_fingerprint = rtts.part_fingerprint
left join rtts_of_technologies on expected.part_fingerprint = rtts_of_technologies.part_fingerprint
left join rtts_of_systems on expected.part_fingerprint = rtts_of_systems.part_fingerprint
left join pairs on expected.part_fingerprint = pairs.part_fingerprint
left join hosts on expected.part_fingerprint = hosts.part_fingerprint
left join systems on expected.part_fingerprint = systems.part_fingerprint
left join of_countries on expected.part_fingerprint = of_countries.part_fingerprint
left join of_technologies on expected.part_fingerprint = of_technologies.part_fingerprint
where
    coalesce(by_outcome.connections, 0) != expected.connections
    or coalesce(cells.counted, 0) != coalesce(by_outcome.counted, 0)
    or coalesce(rtts.counted, 0) != coalesce(by_outcome.counted, 0)
    or coalesce(rtts.counted_again, 0) != coalesce(by_outcome.counted, 0)
    or coalesce(rtts_of_technologies.counted, 0) != coalesce(rtts.served, 0)
    or coalesce(rtts_of_systems.counted, 0) != 2 * coalesce(systems.counted, 0)
    or coalesce(pairs.counted, 0) != coalesce(by_outcome.counted, 0)
    or coalesce(hosts.counted, 0) != coalesce(systems.counted, 0)
    or coalesce(hosts.counted, 0) > coalesce(by_outcome.counted, 0)
    or coalesce(of_countries.counted, 0) != coalesce(cells.served, 0)
    or coalesce(of_technologies.counted, 0) != coalesce(cells.served, 0)

union all

select
    expected_months.month_part_fingerprint as part_fingerprint,
    expected_months.served as connections
from expected_months
left join months on expected_months.month_part_fingerprint = months.month_part_fingerprint
left join months_of_countries on expected_months.month_part_fingerprint = months_of_countries.month_part_fingerprint
left join months_of_technologies on expected_months.month_part_fingerprint = months_of_technologies.month_part_fingerprint
left join months_of_hosts on expected_months.month_part_fingerprint = months_of_hosts.month_part_fingerprint
left join months_of_systems on expected_months.month_part_fingerprint = months_of_systems.month_part_fingerprint
left join months_served on expected_months.month_part_fingerprint = months_served.month_part_fingerprint
left join months_of_rtts on expected_months.month_part_fingerprint = months_of_rtts.month_part_fingerprint
left join rtts_served on expected_months.month_part_fingerprint = rtts_served.month_part_fingerprint
where
    coalesce(months.counted, 0) != expected_months.served
    or coalesce(months_of_countries.counted, 0) != expected_months.served
    or coalesce(months_of_technologies.counted, 0) != expected_months.served
    or coalesce(months_of_hosts.counted, 0) != expected_months.of_hosts
    or coalesce(months_of_systems.counted, 0) != expected_months.of_hosts
    or coalesce(months_served.counted, 0) != expected_months.of_hosts
    or coalesce(months_of_rtts.counted, 0) != 2 * expected_months.of_hosts
    or coalesce(rtts_served.counted, 0) != 2 * expected_months.of_hosts
