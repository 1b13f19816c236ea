with

counted as (
    select * from {{ ref('int_connection_count_day') }}
),

cells as (
    select * from {{ ref('int_queuing_delay_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

-- Connections that the cube counts, by level of detail. Rows without a bin are withheld.
of_cube as (
    select
        part_fingerprint,
        'counted' as outcome,
        case when bin_index is null then 'withheld' else cast(detail_level as string) end as served_detail,
        cast(sum(connections) as bigint) as connections
    from cells
    group by part_fingerprint, served_detail
),

refused as (
    select
        part_fingerprint,
        outcome,
        'refused' as served_detail,
        connections
    from counted
    where outcome != 'counted'
),

of_both as (
    select * from of_cube

    union all

    select * from refused
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        of_both.outcome,
        of_both.served_detail,
        of_both.connections
    from of_both
    inner join parts on of_both.part_fingerprint = parts.part_fingerprint
)

select * from final
