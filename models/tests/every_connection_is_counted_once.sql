-- A build makes some days anew and leaves others: none may be lost, or counted twice, in any of the tables of a day.
with

expected as (
    select
        start_date,
        connections
    from {{ ref('int_connection_day') }}
),

by_outcome as (
    select
        start_date,
        sum(connections) as connections,
        sum(connections) filter (where outcome = 'counted') as counted
    from {{ ref('int_connection_count_day') }}
    group by start_date
),

cells as (
    select
        start_date,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_day') }}
    group by start_date
),

pairs as (
    select
        start_date,
        sum(connections) as counted
    from {{ ref('int_rtt_min_max_day') }}
    group by start_date
),

hosts as (
    select
        start_date,
        sum(connections) as counted
    from {{ ref('int_host_day') }}
    group by start_date
),

systems as (
    select
        start_date,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_as_day') }}
    group by start_date
)

select
    expected.start_date,
    expected.connections
from expected
left join by_outcome on expected.start_date = by_outcome.start_date
left join cells on expected.start_date = cells.start_date
left join pairs on expected.start_date = pairs.start_date
left join hosts on expected.start_date = hosts.start_date
left join systems on expected.start_date = systems.start_date
where
    coalesce(by_outcome.connections, 0) <> expected.connections
    or coalesce(cells.counted, 0) <> coalesce(by_outcome.counted, 0)
    or coalesce(pairs.counted, 0) <> coalesce(by_outcome.counted, 0)
    or coalesce(hosts.counted, 0) <> coalesce(systems.counted, 0)
    or coalesce(hosts.counted, 0) > coalesce(by_outcome.counted, 0)
