{%- set cell = ['period_kind', 'period', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis', 'access_technology'] -%}
with

months as (
    select * from {{ ref('connection_queuing_delay_month_histogram') }}
),

days as (
    select * from {{ ref('connection_queuing_delay_day_technology_histogram') }}
),

quantiles as (
    select * from {{ ref('distribution_quantile') }}
),

over_periods as (
    select
        'all' as period_kind,
        'all' as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        bin_index,
        connections
    from months

    union all

    select
        'day' as period_kind,
        cast(start_date as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        bin_index,
        connections
    from days
),

with_all as (
    select * from over_periods

    union all

    select
        period_kind,
        period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        'all' as access_technology,
        bin_index,
        connections
    from over_periods
),

bins as (
    select
        {{ cell | join(',\n        ') }},
        bin_index,
        sum(connections) as connections
    from with_all
    group by {{ cell | join(', ') }}, bin_index
),

cumulated as (
    select
        {{ cell | join(',\n        ') }},
        bin_index,
        connections,
        sum(connections) over (
            partition by {{ cell | join(', ') }}
            order by bin_index
            rows between unbounded preceding and current row
        ) as connections_up_to_bin,
        sum(connections) over (partition by {{ cell | join(', ') }}) as connections_of_cell
    from bins
),

-- Few quantiles per day, for charts over time, and many over the whole period, for distributions.
chosen as (
    select
        cumulated.*,
        quantiles.quantile_per_mille,
        {{ quantile_rank('quantiles.quantile_per_mille', 'cumulated.connections_of_cell') }} as quantile_rank
    from cumulated
    cross join quantiles
    where cumulated.period_kind = 'all' or quantiles.quantile_per_mille in (250, 500, 750, 950)
),

final as (
    select
        {{ cell | join(',\n        ') }},
        cast(quantile_per_mille as double) / 1000 as quantile_ratio,
        {{ bin_midpoint_ms('bin_index') }} as queuing_delay_ms,
        cast(connections_of_cell as bigint) as connections,
        true as is_upper_bound
    from chosen
    where
        greatest(quantile_rank, 1) <= connections_up_to_bin
        and greatest(quantile_rank, 1) > connections_up_to_bin - connections
)

select * from final
