{%- set period = ['day', 'dataset', 'synthetic', 'period_kind', 'period', 'group_kind', 'metric'] -%}
with

delays as (
    select * from {{ ref('int_access_delay_day') }}
    where
        percentile = 50
        and metric in ('rtt', 'rtt_increase')
),

parts as (
    select * from {{ ref('int_passive_rtt_part') }}
),

certainties as (
    select threshold_value as widest_ms
    from {{ ref('threshold') }}
    where threshold_id = 'certain-rise'
),

bounded as (
    select
        parts.start_date as day,
        parts.dataset,
        parts.synthetic,
        {{ access_period_columns() }},
        delays.group_kind,
        delays.group_name,
        delays.metric,
        delays.lines,
        delays.hosts,
        delays.rtt_samples,
        {{ bin_midpoint_ms('delays.bin_index') }} as median_ms,
        cast({{ bin_lower_us('delays.lower_bin_index') }} as double) / 1000 as lower_ms,
        cast({{ bin_upper_us('delays.upper_bin_index') }} as double) / 1000 as upper_ms,
        certainties.widest_ms
    from delays
    inner join parts on delays.access_part_fingerprint = parts.access_part_fingerprint
    cross join certainties
),

final as (
    select
        day,
        dataset,
        synthetic,
        period_kind,
        period,
        hour_of_day,
        group_kind,
        group_name,
        metric,
        lines,
        hosts,
        rtt_samples,
        median_ms,
        lower_ms,
        upper_ms,
        case when upper_ms - lower_ms <= greatest(lower_ms, widest_ms) then lower_ms end as certain_lower_ms,
        -- Groups without an interval come last; all, unknown and withheld have no rank.
        case
            when group_name not in ('withheld', 'unknown', 'all')
                then
                    cast(row_number() over (
                        partition by
                            {{ period | join(',\n                            ') }}
                        order by
                            case when group_name in ('withheld', 'unknown', 'all') then 1 else 0 end asc,
                            case when lower_ms is null then 1 else 0 end asc,
                            lower_ms desc,
                            median_ms desc,
                            group_name asc
                    ) as bigint)
        end as worst_rank,
        metric = 'rtt_increase' as is_upper_bound
    from bounded
)

select * from final
