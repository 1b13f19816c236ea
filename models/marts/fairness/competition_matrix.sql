-- Incumbents against competitors. The cell with the roles swapped shares the same link, so the two shares should add up to 1. The
-- difference is the advantage of starting first.
with

phases as (
    select * from {{ ref('run_phase') }}
    where
        run_phase = 'competing'
        and incumbent is not null
        and competitor is not null
        and incumbent_share_ratio is not null
),

runs as (
    select * from {{ ref('run') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

-- A cell covers one link and one start order.
cells as (
    select
        phases.*,
        {{ selected_dimensions('run', 'runs') }},
        {{ id_part('phases.study_id') }}
        || '/workload=' || {{ id_part('runs.workload') }}
        || '/direction=' || coalesce(runs.direction, 'none')
        || '/bandwidth=' || coalesce({{ plain_text('runs.bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || coalesce({{ plain_text('runs.rtt_ms') }}, 'none')
        || '/queue=' || {{ id_part('runs.queue_label') }}
        -- The label of a queue does not show every size, and another discipline may be named like a label.
        || case
            when runs.aqm = runs.queue_label and (lower(runs.aqm) != runs.aqm or runs.aqm like '% %')
                then '/aqm=' || {{ id_part('runs.aqm') }}
            else ''
        end
        || case
            when runs.queue_size_bytes is not null then '/queue_size_bytes=' || {{ plain_text('runs.queue_size_bytes') }}
            else
                coalesce('/queue_size_bdp=' || {{ plain_text('runs.queue_size_bdp') }}, '')
                || coalesce('/queue_limit_packets=' || {{ plain_text('runs.queue_limit_packets') }}, '')
        end
        {%- for column in [
            'testbed', 'queue_scheme', 'congested_direction', 'opposite_link', 'participants', 'call_view', 'ecn', 'l4s', 'aqm_parameters',
            'bandwidth_programme',
        ] %}
            {%- set text = 'runs.opposite_link' if column == 'opposite_link' else id_part('cast(runs.' ~ column ~ ' as string)') %}
            || case when runs.{{ column }} is null then '' else '/{{ column }}=' || {{ text }} end
        {%- endfor %} as competition_link_id
    from phases
    inner join runs
        on
            phases.study_id = runs.study_id
            and phases.run_id = runs.run_id
),

ordered as (
    select
        competition_link_id,
        incumbent,
        competitor,
        incumbent_share_ratio,
        row_number() over (
            partition by competition_link_id, incumbent, competitor
            order by incumbent_share_ratio
        ) as value_rank
    from cells
    where exclusion_reason is null
),

summarised as (
    select
        competition_link_id,
        incumbent,
        competitor,
        max(study_id) as study_id,
        max(workload) as workload,
        max(direction) as direction,
        max(bandwidth_bps) as bandwidth_bps,
        max(rtt_ms) as rtt_ms,
        max(aqm) as aqm,
        max(queue_label) as queue_label,
        max(testbed) as testbed,
        max(queue_scheme) as queue_scheme,
        max(congested_direction) as congested_direction,
        max(opposite_link) as opposite_link,
        max(participants) as participants,
        max(call_view) as call_view,
        max(ecn) as ecn,
        max(l4s) as l4s,
        max(synthetic) as synthetic,
        count(case when exclusion_reason is null then 1 end) as runs,
        count(exclusion_reason) as excluded_runs,
        median(case when exclusion_reason is null then incumbent_share_ratio end) as incumbent_share_median_ratio,
        median(case when exclusion_reason is null then incumbent_rate_bps end) as incumbent_rate_median_bps,
        median(case when exclusion_reason is null then competitor_rate_bps end) as competitor_rate_median_bps
    from cells
    group by competition_link_id, incumbent, competitor
),

bounded as (
    select
        summarised.competition_link_id,
        summarised.incumbent,
        summarised.competitor,
        max(case when ordered.value_rank = interval_ranks.lower_rank then ordered.incumbent_share_ratio end) as share_lower_ratio,
        max(
            case when ordered.value_rank = summarised.runs + 1 - interval_ranks.lower_rank then ordered.incumbent_share_ratio end
        ) as share_upper_ratio
    from summarised
    inner join interval_ranks
        on summarised.runs = interval_ranks.runs
    inner join ordered
        on
            summarised.competition_link_id = ordered.competition_link_id
            and summarised.incumbent = ordered.incumbent
            and summarised.competitor = ordered.competitor
    group by
        summarised.competition_link_id,
        summarised.incumbent,
        summarised.competitor
),

final as (
    select
        summarised.competition_link_id,
        summarised.incumbent,
        summarised.competitor,
        summarised.study_id,
        summarised.workload,
        summarised.direction,
        summarised.bandwidth_bps,
        summarised.rtt_ms,
        summarised.aqm,
        summarised.queue_label,
        summarised.testbed,
        summarised.queue_scheme,
        summarised.congested_direction,
        summarised.opposite_link,
        summarised.participants,
        summarised.call_view,
        summarised.ecn,
        summarised.l4s,
        summarised.runs,
        summarised.excluded_runs,
        summarised.incumbent_share_median_ratio,
        bounded.share_lower_ratio as incumbent_share_lower_ratio,
        bounded.share_upper_ratio as incumbent_share_upper_ratio,
        {{ median_interval_columns('bounded.share_lower_ratio', 'summarised.runs', without='every run is excluded') }},
        summarised.incumbent_rate_median_bps,
        summarised.competitor_rate_median_bps,
        turned.runs as turned_runs,
        turned.incumbent_share_median_ratio as turned_incumbent_share_median_ratio,
        summarised.incumbent_share_median_ratio + turned.incumbent_share_median_ratio - 1 as complement_excess_ratio,
        case
            when summarised.incumbent_share_median_ratio is null then 'every run is excluded'
            when turned.incumbent is null then 'no run in which the two change places'
            when turned.incumbent_share_median_ratio is null then 'every run in which the two change places is excluded'
        end as complement_null_reason,
        summarised.synthetic
    from summarised
    left join bounded
        on
            summarised.competition_link_id = bounded.competition_link_id
            and summarised.incumbent = bounded.incumbent
            and summarised.competitor = bounded.competitor
    left join summarised as turned
        on
            summarised.competition_link_id = turned.competition_link_id
            and summarised.incumbent = turned.competitor
            and summarised.competitor = turned.incumbent
)

select * from final
