-- Figures that a study states, next to the same figures from the build's data of that study. One query serves all findings: the seed
-- published_selection gives the values and the statistic of each.
with

findings as (
    select * from {{ ref('published_finding') }}
),

selections as (
    select * from {{ ref('published_selection') }}
),

shift_ranks as (
    select * from {{ ref('shift_interval_rank') }}
),

study_runs as (
    select * from {{ ref('run') }}
),

figures as (
    select * from {{ ref('published_figure') }}
),

replications as (
    select * from {{ ref('published_replication') }}
),

described_studies as (
    select distinct study_id
    from study_runs
),

-- Verdicts of configurations of other studies, each counted once, whatever its mappings and bases and the finding's groups.
configurations_elsewhere as (
    select
        finding_id,
        configuration_id,
        max(case when finding_verdict = 'agrees' then 1 else 0 end) as has_agreed,
        max(case when finding_verdict = 'same side' then 1 else 0 end) as has_same_side,
        max(case when finding_verdict = 'contradicts' then 1 else 0 end) as has_contradicted
    from replications
    where own_value is not null
    group by
        finding_id,
        configuration_id
),

elsewhere as (
    select
        finding_id,
        count(*) as other_configurations,
        sum(greatest(has_agreed, has_same_side, has_contradicted)) as other_telling_configurations,
        case
            when max(greatest(has_agreed, has_same_side)) = 1 and max(has_contradicted) = 1 then 'mixed'
            when max(has_same_side) = 1 then 'same side'
            when max(has_agreed) = 1 then 'agrees'
            when max(has_contradicted) = 1 then 'contradicts'
            else 'cannot tell'
        end as other_verdict
    from configurations_elsewhere
    group by finding_id
),

-- Each group of a finding has its columns and a text that names it, because empty groups must match too.
grouped as (
    select
        *,
        exclusion_reason is not null as is_excluded,
        finding_id
        || '/' || {{ id_part('application', 'any') }}
        || '/' || {{ id_part('incumbent', 'any') }}
        || '/' || coalesce({{ plain_text('bandwidth_bps') }}, 'any')
        || '/' || {{ id_part('congestion_control', 'any') }}
        || '/' || coalesce(start_order, 'any')
        || '/' || {{ id_part('workload', 'any') }}
        || '/' || coalesce(direction, 'any')
        || '/' || coalesce(congested_direction, 'any')
        || '/' || coalesce({{ plain_text('rtt_ms') }}, 'any')
        || '/' || coalesce({{ plain_text('queue_size_bdp') }}, 'any')
        || '/' || coalesce({{ plain_text('queue_limit_packets') }}, 'any') as group_id
    from figures
),

counted as (
    select * from grouped
    where not is_excluded
),

group_columns as (
    select
        group_id,
        finding_id,
        max(own_statistic) as own_statistic,
        max(stated_end) as stated_end,
        max(population) as population,
        max(application) as application,
        max(incumbent) as incumbent,
        max(bandwidth_bps) as bandwidth_bps,
        max(congestion_control) as congestion_control,
        max(start_order) as start_order,
        max(workload) as workload,
        max(direction) as direction,
        max(congested_direction) as congested_direction,
        max(rtt_ms) as rtt_ms,
        max(queue_size_bdp) as queue_size_bdp,
        max(queue_limit_packets) as queue_limit_packets,
        cast(
            count(distinct case when not is_excluded and term = 'value' and population = 'run' then coalesce(run_id, item) end)
            as bigint
        ) as runs,
        cast(count(distinct case when is_excluded then coalesce(run_id, item) end) as bigint) as excluded_runs,
        case
            when max(population) = 'run' then cast(count(case when not is_excluded then 1 end) as bigint)
            else cast(max(units) as bigint)
        end as units
    from grouped
    group by
        group_id,
        finding_id
),

-- The last digits of a sum of doubles depend on the order.
of_values as (
    select
        group_id,
        case max(own_statistic)
            when 'pearson'
                then
                    case
                        -- Engines differ in what the correlation with a constant is.
                        when min(own_value) < max(own_value) and min(second_value) < max(second_value)
                            then round(corr(own_value, second_value), 9)
                    end
            when 'mean' then round({{ ordered_mean('own_value') }}, 9)
            when 'sum' then round({{ ordered_sum('own_value') }}, 9)
            when 'min' then min(own_value)
            when 'max' then max(own_value)
            else median(own_value)
        end as own_value
    from counted
    where own_statistic not in ('highest_median', 'ratio')
    group by group_id
),

cells as (
    select
        group_id,
        cell,
        median(own_value) as cell_median
    from counted
    where own_statistic = 'highest_median'
    group by
        group_id,
        cell
),

of_cells as (
    select
        group_id,
        max(cell_median) as own_value
    from cells
    group by group_id
),

ratio_values as (
    select
        group_id,
        term,
        own_value
    from counted
    where own_statistic = 'ratio'
),

{{ ratio_intervals('ratio_values', 'shift_ranks') }},

figures_of_groups as (
    select
        group_id,
        own_value,
        cast(null as double) as own_lower,
        cast(null as double) as own_upper
    from of_values

    union all

    select
        group_id,
        own_value,
        null as own_lower,
        null as own_upper
    from of_cells

    union all

    select
        group_id,
        own_value,
        own_lower,
        own_upper
    from of_ratios
),

recomputed as (
    select
        group_columns.*,
        figures_of_groups.own_value,
        figures_of_groups.own_lower,
        figures_of_groups.own_upper
    from group_columns
    left join figures_of_groups
        on group_columns.group_id = figures_of_groups.group_id
),

-- What a single value describes, if nothing answers the finding.
units_asked as (
    select
        finding_id,
        max(population) as population,
        max(window_ms) as window_ms
    from selections
    group by finding_id
),

-- A printed number stands for all values that round to it. If two values are not a band, each has its own runs.
judged as (
    select
        recomputed.*,
        case
            when recomputed.stated_end = 'high' then findings.tolerance_high
            when findings.is_band or recomputed.stated_end = 'low' then findings.tolerance_low
        end - coalesce(findings.printed_step, 0) / 2 as agrees_from,
        case
            when recomputed.stated_end = 'low' then findings.tolerance_low
            when findings.is_band or recomputed.stated_end = 'high' then findings.tolerance_high
        end + coalesce(findings.printed_step, 0) / 2 as agrees_to
    from recomputed
    inner join findings
        on recomputed.finding_id = findings.finding_id
),

compared as (
    select
        coalesce(
            judged.group_id,
            findings.finding_id || '/any/any/any/any/any/any/any/any/any/any/any'
        ) as published_comparison_id,
        findings.finding_id,
        findings.study_id,
        findings.reference,
        findings.subject,
        findings.condition,
        findings.statistic,
        findings.metric_unit,
        findings.stated_low,
        findings.stated_high,
        findings.tolerance_low,
        findings.tolerance_high,
        findings.printed_step,
        findings.is_band,
        findings.reading,
        judged.application,
        judged.incumbent,
        judged.bandwidth_bps,
        judged.congestion_control,
        judged.start_order,
        judged.workload,
        judged.direction,
        judged.congested_direction,
        judged.rtt_ms,
        judged.queue_size_bdp,
        judged.queue_limit_packets,
        judged.own_statistic,
        judged.own_value,
        judged.own_lower,
        judged.own_upper,
        coalesce(judged.runs, 0) as runs,
        coalesce(judged.excluded_runs, 0) as excluded_runs,
        coalesce(judged.population, units_asked.population) as population,
        coalesce(judged.units, 0) as units,
        case
            when judged.own_value is null or coalesce(judged.agrees_from, judged.agrees_to) is null then null
            -- A ratio has an interval; an inconclusive interval is not judged.
            when judged.own_statistic = 'ratio' and judged.own_lower is null then null
            when
                judged.own_statistic = 'ratio'
                and (judged.own_lower > judged.agrees_to or judged.own_upper < judged.agrees_from)
                then false
            when judged.own_statistic = 'ratio' and judged.agrees_from < 1 and judged.agrees_to > 1
                then case when judged.own_lower >= judged.agrees_from and judged.own_upper <= judged.agrees_to then true end
            when judged.own_statistic = 'ratio'
                then case when judged.own_lower > 1 or judged.own_upper < 1 then true end
            -- Studies state no intervals, so other figures are judged by the value alone.
            else
                (judged.agrees_from is null or judged.own_value >= judged.agrees_from - 1e-9)
                and (judged.agrees_to is null or judged.own_value <= judged.agrees_to + 1e-9)
        end as is_inside_tolerance,
        case
            when judged.own_value is not null then null
            when judged.own_statistic = 'pearson' then 'one of the two quantities has the same value in all runs'
            when findings.not_answered_reason is not null then findings.not_answered_reason
            when units_asked.population in ('connection', 'host')
                then 'the build has no data set of connections named after the study, or one with too few hosts'
            when units_asked.population = 'subject' then 'the build has no ratings of the study'
            when described_studies.study_id is null then 'the build has no run of the study'
            else
                'no run of the study in the build has the configuration in the statement'
                || coalesce(' and its window of ' || {{ plain_text('units_asked.window_ms / 1000') }} || ' s', '')
        end as not_answered_reason,
        coalesce(elsewhere.other_configurations, 0) as other_configurations,
        cast(coalesce(elsewhere.other_telling_configurations, 0) as bigint) as other_telling_configurations,
        coalesce(elsewhere.other_verdict, 'no such runs') as other_verdict
    from findings
    left join judged
        on findings.finding_id = judged.finding_id
    left join units_asked
        on findings.finding_id = units_asked.finding_id
    left join described_studies
        on findings.study_id = described_studies.study_id
    left join elsewhere
        on findings.finding_id = elsewhere.finding_id
),

final as (
    select
        compared.published_comparison_id,
        compared.finding_id,
        compared.study_id,
        compared.reference,
        compared.subject,
        compared.condition,
        compared.statistic,
        compared.metric_unit,
        compared.stated_low,
        compared.stated_high,
        compared.tolerance_low,
        compared.tolerance_high,
        compared.printed_step,
        compared.is_band,
        compared.reading,
        compared.application,
        compared.incumbent,
        compared.bandwidth_bps,
        compared.congestion_control,
        compared.start_order,
        compared.workload,
        compared.direction,
        compared.congested_direction,
        compared.rtt_ms,
        compared.queue_size_bdp,
        compared.queue_limit_packets,
        compared.own_statistic,
        compared.own_value,
        compared.own_lower,
        compared.own_upper,
        compared.runs,
        compared.excluded_runs,
        compared.population,
        compared.units,
        compared.is_inside_tolerance,
        case
            when count(case when not compared.is_inside_tolerance then 1 end) over (partition by compared.finding_id) > 0 then 'differs'
            when count(compared.is_inside_tolerance) over (partition by compared.finding_id) > 0 then 'agrees'
            when count(compared.own_value) over (partition by compared.finding_id) > 0 then 'not judged'
            else 'not answered'
        end as statement_verdict,
        compared.not_answered_reason,
        compared.other_configurations,
        compared.other_telling_configurations,
        compared.other_verdict
    from compared
)

select * from final
