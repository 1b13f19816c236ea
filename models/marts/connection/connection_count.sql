with

counted as (
    select * from {{ ref('int_connection_count_day') }}
),

cells as (
    select * from {{ ref('int_queuing_delay_day') }}
),

-- What the cube counts, at which level of detail; a level without a bin is what is withheld as a whole.
of_cube as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        'counted' as outcome,
        case when bin_index is null then 'withheld' else cast(detail_level as string) end as served_detail,
        cast(sum(connections) as bigint) as connections
    from cells
    group by start_date, dataset, synthetic, rtt_basis, sample_basis, served_detail
),

refused as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        outcome,
        'refused' as served_detail,
        connections
    from counted
    where outcome != 'counted'
),

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        outcome,
        served_detail,
        connections
    from of_cube

    union all

    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        outcome,
        served_detail,
        connections
    from refused
)

select * from final
