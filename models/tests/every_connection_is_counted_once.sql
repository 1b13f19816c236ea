-- A build makes some days anew and leaves others: none may be lost, or counted twice, in any of the tables of a day.
with

expected as (
    select
        part_mark,
        connections
    from {{ ref('int_connection_part') }}
),

by_outcome as (
    select
        part_mark,
        sum(connections) as connections,
        sum(connections) filter (where outcome = 'counted') as counted
    from {{ ref('int_connection_count_day') }}
    group by part_mark
),

cells as (
    select
        part_mark,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_day') }}
    group by part_mark
),

pairs as (
    select
        part_mark,
        sum(connections) as counted
    from {{ ref('int_rtt_min_max_day') }}
    group by part_mark
),

hosts as (
    select
        part_mark,
        sum(connections) as counted
    from {{ ref('int_host_day') }}
    group by part_mark
),

systems as (
    select
        part_mark,
        sum(connections) as counted
    from {{ ref('int_queuing_delay_as_day') }}
    group by part_mark
)

select
    expected.part_mark,
    expected.connections
from expected
left join by_outcome on expected.part_mark = by_outcome.part_mark
left join cells on expected.part_mark = cells.part_mark
left join pairs on expected.part_mark = pairs.part_mark
left join hosts on expected.part_mark = hosts.part_mark
left join systems on expected.part_mark = systems.part_mark
where
    coalesce(by_outcome.connections, 0) <> expected.connections
    or coalesce(cells.counted, 0) <> coalesce(by_outcome.counted, 0)
    or coalesce(pairs.counted, 0) <> coalesce(by_outcome.counted, 0)
    or coalesce(hosts.counted, 0) <> coalesce(systems.counted, 0)
    or coalesce(hosts.counted, 0) > coalesce(by_outcome.counted, 0)
