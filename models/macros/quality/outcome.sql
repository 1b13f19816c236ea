{#-
    Score of one quantity of the Quality of Outcome: 100 if it is perfect or better, 0 if it is useless or worse, linear in between. Null
    if the quantity is unknown.
-#}
{% macro qoo_score(quantity, perfect, useless) -%}
    case
            when {{ quantity }} is not null
                then 100 * least(
                    greatest(({{ useless }} - {{ quantity }}) / ({{ useless }} - {{ perfect }}), cast(0 as double)), cast(1 as double)
                )
        end
{%- endmacro %}

{#-
    CTEs for scoring round-trip times: `grades`, `bounds`, and `barometer`, the part of the Internet Quality Barometer that latency
    without load determines. `met_share` is the score if no requirement for an unknown quantity is met; 1 - `latency_share` + `met_share`
    is the score if all of them are.

    rows: CTE with the columns of the key and the latency. latency: column of rows with the latency in ms. A null latency has no row.
-#}
{% macro scales_of_round_trips(rows, key, latency) -%}
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

requirements as (
    select * from {{ ref('int_iqb_share') }}
    where requirement = 'latency_ms'
),

latency_shares as (
    select
        threshold,
        sum(share) as share
    from requirements
    group by threshold
),

barometer as (
    select
        {%- for column in key %}
            {{ rows }}.{{ column }},
        {%- endfor %}
        round(sum(case when {{ rows }}.{{ latency }} < latency_shares.threshold then latency_shares.share else 0 end), 12) as met_share,
        round(sum(latency_shares.share), 12) as latency_share
    from {{ rows }}
    cross join latency_shares
    where {{ rows }}.{{ latency }} is not null
    group by
        {%- for column in key %}
            {{ rows }}.{{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
)
{%- endmacro %}

{#-
    Scores of groups of lines or connections by their round-trip times. These three macros need the relations `ranked` (a row for each
    group and percentile, with added_delay_ms, loaded_rtt_ms and idle_rtt_ms, and the bounds of the first two), `barometer`, `grades` and
    `bounds`.
-#}
{% macro scores_of_round_trips() -%}
ranked.added_delay_ms,
        ranked.added_delay_lower_ms,
        ranked.added_delay_upper_ms,
        grades.quality_class as bufferbloat_grade,
        ranked.loaded_rtt_ms,
        {{ round_trips_per_minute('ranked.loaded_rtt_ms') }} as responsiveness_rpm,
        {{ round_trips_per_minute('ranked.loaded_rtt_upper_ms') }} as responsiveness_lower_rpm,
        {{ round_trips_per_minute('ranked.loaded_rtt_lower_ms') }} as responsiveness_upper_rpm,
        {{ qoo_score('ranked.loaded_rtt_ms', 'bounds.perfect', 'bounds.useless') }} as qoo_latency_score,
        ranked.idle_rtt_ms,
        barometer.met_share as iqb_lower_score,
        round(1 - barometer.latency_share + barometer.met_share, 12) as iqb_upper_score
{%- endmacro %}

{#- Ranks among the groups, by this percentile and by the 95th. -#}
{% macro ranks_of_groups() -%}
cast(ranked.group_rank as bigint) as group_rank,
        cast(at_p95.group_rank as bigint) as group_rank_at_p95,
        ranked.group_rank != at_p95.group_rank as is_rank_changed,
        true as is_upper_bound
{%- endmacro %}

{#- Joins for the columns of a group's scores. group: columns that distinguish groups. -#}
{% macro joins_of_scores(group) -%}
cross join bounds
    inner join ranked as at_p95
        on
            at_p95.percentile = 95
            and {{ same_columns('ranked', 'at_p95', group) }}
    left join barometer
        on
            ranked.percentile = barometer.percentile
            and {{ same_columns('ranked', 'barometer', group) }}
    left join grades
        on
            {{ is_in_range('ranked.added_delay_ms', 'grades') }}
{%- endmacro %}

{#- Responsiveness (draft-ietf-ippm-responsiveness); null for a round trip below a microsecond, which none takes. -#}
{% macro round_trips_per_minute(rtt_ms) -%}
    case when {{ rtt_ms }} >= 0.001 then cast(60000 as double) / {{ rtt_ms }} end
{%- endmacro %}
