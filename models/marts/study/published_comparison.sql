-- What a study states, beside the same figure from the runs of that study that are in the build. One statement for all findings:
-- the seed gives the runs and the metric of each.
with

findings as (
    select * from {{ ref('published_finding') }}
),

selections as (
    select * from {{ ref('published_selection') }}
),

metrics as (
    select * from {{ ref('run_metric') }}
),

study_runs as (
    select * from {{ ref('run') }}
),

replications as (
    select * from {{ ref('published_replication') }}
),

described_studies as (
    select distinct study_id
    from study_runs
),

-- What configurations of other studies say, each once, whatever its mappings and bases and the finding's groups here.
configurations_elsewhere as (
    select
        finding_id,
        configuration_id,
        max(case when finding_verdict = 'agrees' then 1 else 0 end) as has_agreed,
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
        sum(greatest(has_agreed, has_contradicted)) as other_telling_configurations,
        case
            when max(has_agreed) = 1 and max(has_contradicted) = 1 then 'mixed'
            when max(has_agreed) = 1 then 'agrees'
            when max(has_contradicted) = 1 then 'contradicts'
            else 'cannot tell'
        end as other_verdict
    from configurations_elsewhere
    group by finding_id
),

selected as (
    select
        findings.finding_id,
        selections.statistic as own_statistic,
        selections.second_metric,
        metrics.study_id,
        metrics.run_id,
        metrics.role,
        metrics.exclusion_reason is not null as is_excluded,
        metrics.metric_value * selections.value_factor as own,
        case when selections.group_columns like '%application%' then metrics.application end as application,
        case when selections.group_columns like '%bandwidth_bps%' then metrics.bandwidth_bps end as bandwidth_bps,
        case when selections.group_columns like '%congestion_control%' then metrics.congestion_control end as congestion_control,
        case when selections.group_columns like '%start_order%' then metrics.start_order end as start_order,
        row_number() over (
            partition by findings.finding_id, metrics.study_id, metrics.run_id, metrics.role, metrics.metric, metrics.basis
            order by selections.selection_number
        ) as preference
    from findings
    inner join selections
        on findings.finding_id = selections.finding_id
    inner join metrics
        on
            findings.study_id = metrics.study_id
            and selections.metric = metrics.metric
            and selections.role = metrics.role
    where
        (selections.application is null or selections.application = metrics.application)
        and {{ has_finding_axes('selections', 'metrics') }}
),

paired as (
    select
        selected.finding_id,
        selected.own_statistic,
        selected.application,
        selected.bandwidth_bps,
        selected.congestion_control,
        selected.start_order,
        selected.is_excluded,
        case when not selected.is_excluded then selected.own end as own,
        case when not selected.is_excluded then partners.metric_value end as partner
    from selected
    left join metrics as partners
        on
            selected.study_id = partners.study_id
            and selected.run_id = partners.run_id
            and selected.role = partners.role
            and selected.second_metric = partners.metric
    -- A run that several selections of a finding have counts once.
    where
        selected.preference = 1
        and (
            selected.second_metric is null
            or partners.metric_value is not null
        )
),

recomputed as (
    select
        finding_id,
        own_statistic,
        application,
        bandwidth_bps,
        congestion_control,
        start_order,
        count(own) as runs,
        count(case when is_excluded then 1 end) as excluded_runs,
        -- Sums of doubles depend on their order in the last digits.
        case
            when own_statistic = 'pearson' then round(corr(own, partner), 9)
            else median(own)
        end as own_value
    from paired
    group by
        finding_id,
        own_statistic,
        application,
        bandwidth_bps,
        congestion_control,
        start_order
),

final as (
    select
        findings.finding_id
        || '/' || coalesce(recomputed.application, 'any')
        || '/' || coalesce({{ plain_text('recomputed.bandwidth_bps') }}, 'any')
        || '/' || coalesce(recomputed.congestion_control, 'any')
        || '/' || coalesce(recomputed.start_order, 'any') as published_comparison_id,
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
        findings.is_band,
        findings.reading,
        recomputed.application,
        recomputed.bandwidth_bps,
        recomputed.congestion_control,
        recomputed.start_order,
        recomputed.own_statistic,
        recomputed.own_value,
        coalesce(recomputed.runs, 0) as runs,
        coalesce(recomputed.excluded_runs, 0) as excluded_runs,
        case
            when
                recomputed.own_value is not null
                and findings.is_band
                and coalesce(findings.tolerance_low, findings.tolerance_high) is not null
                then
                    (findings.tolerance_low is null or recomputed.own_value >= findings.tolerance_low)
                    and (findings.tolerance_high is null or recomputed.own_value <= findings.tolerance_high)
        end as is_inside_tolerance,
        case
            when recomputed.own_value is not null then null
            when findings.not_answered_reason is not null then findings.not_answered_reason
            when described_studies.study_id is null then 'the build has no run of the study'
            else 'no run of the build is one that the finding is of'
        end as not_answered_reason,
        coalesce(elsewhere.other_configurations, 0) as other_configurations,
        cast(coalesce(elsewhere.other_telling_configurations, 0) as bigint) as other_telling_configurations,
        coalesce(elsewhere.other_verdict, 'no such runs') as other_verdict
    from findings
    left join recomputed
        on findings.finding_id = recomputed.finding_id
    left join described_studies
        on findings.study_id = described_studies.study_id
    left join elsewhere
        on findings.finding_id = elsewhere.finding_id
)

select * from final
