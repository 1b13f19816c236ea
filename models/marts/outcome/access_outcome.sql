{%- set group = ['day', 'dataset', 'synthetic', 'period_kind', 'period', 'group_kind', 'group_name'] -%}
{%- set key = group + ['percentile'] -%}
{%- set quantities = {'added_delay': 'rtt_increase', 'loaded_rtt': 'rtt', 'idle_rtt': 'rtt_floor'} -%}
-- Scores of the lines of an access network, by group of lines and by percentile over the lines.
with

delays as (
    select * from {{ ref('int_access_delay_day') }}
),

parts as (
    select * from {{ ref('int_passive_rtt_part') }}
),

valued as (
    select
        parts.start_date as day,
        parts.dataset,
        parts.synthetic,
        {{ access_period_columns() }},
        delays.group_kind,
        delays.group_name,
        delays.percentile,
        delays.metric,
        delays.lines,
        delays.rtt_samples,
        {{ bin_midpoint_ms('delays.bin_index') }} as value_ms,
        cast({{ bin_lower_us('delays.lower_bin_index') }} as double) / 1000 as lower_ms,
        cast({{ bin_upper_us('delays.upper_bin_index') }} as double) / 1000 as upper_ms
    from delays
    inner join parts on delays.access_part_fingerprint = parts.access_part_fingerprint
),

together as (
    select
        {{ key | join(',\n        ') }},
        max(hour_of_day) as hour_of_day,
        max(lines) as lines,
        max(rtt_samples) as rtt_samples,
        {%- for quantity, metric in quantities.items() %}
            max(case when metric = '{{ metric }}' then value_ms end) as {{ quantity }}_ms,
            max(case when metric = '{{ metric }}' then lower_ms end) as {{ quantity }}_lower_ms,
            max(case when metric = '{{ metric }}' then upper_ms end) as {{ quantity }}_upper_ms
            {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from valued
    group by {{ key | join(', ') }}
),

{{ scales_of_round_trips('together', key, 'idle_rtt_ms') }},

ranked as (
    select
        *,
        -- all, unknown and withheld have no rank and take none from the others.
        case
            when group_name not in ('withheld', 'unknown', 'all')
                then rank() over (
                    partition by
                        day, dataset, synthetic, period_kind, period, group_kind, percentile,
                        case when group_name in ('withheld', 'unknown', 'all') then 1 else 0 end
                    order by added_delay_ms
                )
        end as group_rank
    from together
),

final as (
    select
        {%- for column in group %}
            ranked.{{ column }},
        {%- endfor %}
        cast(ranked.percentile as double) as percentile,
        ranked.hour_of_day,
        ranked.lines,
        ranked.rtt_samples,
        {{ scores_of_round_trips() }},
        'AIM also needs jitter, loss and download rate, which passive round trips do not have' as aim_null_reason,
        case when ranked.added_delay_lower_ms is not null then cast(0.95 as double) end as level_ratio,
        case when ranked.added_delay_lower_ms is null then 'too few lines for an interval of this percentile' end as interval_null_reason,
        {{ ranks_of_groups() }}
    from ranked
    {{ joins_of_scores(group) }}
)

select * from final
