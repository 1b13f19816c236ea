{#-
    CTEs that end in `quantiles`: n and five quantiles of bins of captures, by the inverted CDF: the midpoint of the bin that contains the
    value of that rank, within 1 %.

    bins: relation with `bin_index` and `connections`. cell: columns that distinguish distributions.
-#}
{% macro quantiles_of_bins(bins, cell) -%}
{%- set quantiles = {'p05_ms': 50, 'p25_ms': 250, 'median_ms': 500, 'p75_ms': 750, 'p95_ms': 950} -%}
bins as (
    select
        {{ cell | join(',\n        ') }},
        bin_index,
        cast(sum(connections) as bigint) as connections
    from {{ bins }}
    group by {{ cell | join(', ') }}, bin_index
),

cumulated as (
    select
        {{ cell | join(',\n        ') }},
        bin_index,
        sum(connections) over (
            partition by {{ cell | join(', ') }}
            order by bin_index
            rows between unbounded preceding and current row
        ) as connections_up_to_bin,
        sum(connections) over (partition by {{ cell | join(', ') }}) as connections_of_cell
    from bins
),

ranked as (
    select
        {{ cell | join(',\n        ') }},
        cast(max(connections_of_cell) as bigint) as connections
        {%- for name, per_mille in quantiles.items() %},
        min(bin_index) filter (where connections_up_to_bin >= {{ quantile_rank(per_mille, 'connections_of_cell') }}) as {{ name }}_bin
        {%- endfor %}
    from cumulated
    group by {{ cell | join(', ') }}
),

quantiles as (
    select
        {{ cell | join(',\n        ') }},
        connections
        {%- for name in quantiles %},
        {{ bin_midpoint_ms(name ~ '_bin') }} as {{ name }}
        {%- endfor %}
    from ranked
)
{%- endmacro %}
