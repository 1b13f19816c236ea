{%- set key = ['day', 'dataset', 'synthetic', 'period_kind', 'period', 'group_kind', 'group_name', 'percentile'] -%}
{%- set quantities = {'added_delay': 'rtt_increase', 'loaded_rtt': 'rtt', 'idle_rtt': 'rtt_floor'} -%}
-- Scores of the lines of an access network, by groups of them and by the percentile over lines that is taken.
with

delays as (
    select * from {{ ref('int_access_delay_day') }}
),

parts as (
    select * from {{ ref('int_passive_rtt_part') }}
),

grades as (
    select * from {{ ref('int_quality_class_range') }}
    where qoe_model_id = 'bufferbloat-grade'
),

bounds as (
    select * from {{ ref('outcome_bound') }}
    where
        qoe_model_id = 'qoo-video-call'
        and quantity = 'latency_p99_ms'
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
        cast({{ bin_lower_us('delays.bin_index') }} + {{ bin_upper_us('delays.bin_index') }} - 1 as double) / 2000 as value_ms,
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

{{ barometer_by_latency('together', key, 'idle_rtt_ms') }},

ranked as (
    select
        *,
        -- What is no group of its own has no rank, and takes none from the others.
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
        {%- for column in key if column != 'percentile' %}
            ranked.{{ column }},
        {%- endfor %}
        cast(ranked.percentile as double) as percentile,
        ranked.hour_of_day,
        ranked.lines,
        ranked.rtt_samples,
        ranked.added_delay_ms,
        ranked.added_delay_lower_ms,
        ranked.added_delay_upper_ms,
        grades.quality_class as bufferbloat_grade,
        ranked.loaded_rtt_ms,
        cast(60000 as double) / nullif(ranked.loaded_rtt_ms, 0) as responsiveness_rpm,
        cast(60000 as double) / nullif(ranked.loaded_rtt_upper_ms, 0) as responsiveness_lower_rpm,
        cast(60000 as double) / nullif(ranked.loaded_rtt_lower_ms, 0) as responsiveness_upper_rpm,
        {{ qoo_score('ranked.loaded_rtt_ms', 'bounds.perfect', 'bounds.useless') }} as qoo_latency_score,
        ranked.idle_rtt_ms,
        barometer.met_share as iqb_lower_score,
        round(1 - barometer.latency_share + barometer.met_share, 12) as iqb_upper_score,
        'passive round trips tell no jitter, loss or download rate, which AIM adds up' as aim_null_reason,
        case when ranked.added_delay_lower_ms is not null then cast(0.95 as double) end as level_ratio,
        case when ranked.added_delay_lower_ms is null then 'too few lines for an interval of this percentile' end as interval_null_reason,
        cast(ranked.group_rank as bigint) as group_rank,
        cast(at_p95.group_rank as bigint) as group_rank_at_p95,
        ranked.group_rank != at_p95.group_rank as is_rank_changed,
        true as is_upper_bound
    from ranked
    cross join bounds
    inner join ranked as at_p95
        on
            at_p95.percentile = 95
            {%- for column in key if column != 'percentile' %}
                and ranked.{{ column }} = at_p95.{{ column }}
            {%- endfor %}
    left join barometer
        on
            {% for column in key -%}
                {% if not loop.first %}and {% endif %}ranked.{{ column }} = barometer.{{ column }}
            {% endfor %}
    left join grades
        on
            ranked.added_delay_ms >= coalesce(grades.lower_bound, ranked.added_delay_ms)
            and (grades.upper_bound is null or ranked.added_delay_ms < grades.upper_bound)
)

select * from final
