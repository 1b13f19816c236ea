{#-
    CTEs that end in of_ratios: each group's ratio of values to values of its baseline, with a 95 % interval. Every value is divided by
    every value of the baseline: on a logarithmic scale, these are the Hodges-Lehmann differences, and the interval inverts the
    Mann-Whitney test.

    values: relation with group_id, term ('value' or 'baseline') and own_value; values that are not above zero have no ratio. ranks:
    relation of the seed shift_interval_rank.
-#}
{% macro ratio_intervals(values, ranks) -%}
ratios as (
    select
        numerators.group_id,
        numerators.own_value / denominators.own_value as ratio,
        row_number() over (
            partition by numerators.group_id
            order by numerators.own_value / denominators.own_value
        ) as ratio_rank
    from {{ values }} as numerators
    inner join {{ values }} as denominators
        on numerators.group_id = denominators.group_id
    where
        numerators.term = 'value'
        and denominators.term = 'baseline'
        and numerators.own_value > 0
        and denominators.own_value > 0
),

ratio_sizes as (
    select
        group_id,
        count(case when term = 'value' then 1 end) as value_runs,
        count(case when term = 'baseline' then 1 end) as baseline_runs
    from {{ values }}
    where own_value > 0
    group by group_id
),

-- Beyond the table, use the normal approximation of sojourn_statistics.
ratio_ranks as (
    select
        ratio_sizes.group_id,
        ratio_sizes.value_runs,
        ratio_sizes.baseline_runs,
        coalesce(
            {{ ranks }}.lower_rank,
            case
                when greatest(ratio_sizes.value_runs, ratio_sizes.baseline_runs) > 30
                    then cast(
                        greatest(
                            floor(
                                ratio_sizes.value_runs * ratio_sizes.baseline_runs / cast(2 as double)
                                - 1.959963984540054 * sqrt(
                                    ratio_sizes.value_runs * ratio_sizes.baseline_runs
                                    * (ratio_sizes.value_runs + ratio_sizes.baseline_runs + 1) / cast(12 as double)
                                )
                            ),
                            1
                        ) as bigint
                    )
            end
        ) as lower_rank
    from ratio_sizes
    left join {{ ranks }}
        on
            least(ratio_sizes.value_runs, ratio_sizes.baseline_runs) = {{ ranks }}.smaller_n
            and greatest(ratio_sizes.value_runs, ratio_sizes.baseline_runs) = {{ ranks }}.larger_n
),

of_ratios as (
    select
        ratios.group_id,
        round(exp(median(ln(ratios.ratio))), 9) as own_value,
        max(case when ratios.ratio_rank = ratio_ranks.lower_rank then ratios.ratio end) as own_lower,
        max(
            case
                when ratios.ratio_rank = ratio_ranks.value_runs * ratio_ranks.baseline_runs + 1 - ratio_ranks.lower_rank
                    then ratios.ratio
            end
        ) as own_upper,
        max(ratio_ranks.value_runs + ratio_ranks.baseline_runs) as runs
    from ratios
    inner join ratio_ranks
        on ratios.group_id = ratio_ranks.group_id
    group by ratios.group_id
)
{%- endmacro %}
