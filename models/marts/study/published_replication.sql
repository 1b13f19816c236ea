-- Whether what a study states also holds in runs of others: every configuration of another study that has what the finding's words say, by
-- a named mapping from its words to the axes of a configuration. It is never a recomputation of the study itself: published_comparison is.
with

findings as (
    select * from {{ ref('published_finding') }}
),

mappings as (
    select * from {{ ref('published_mapping') }}
),

metrics as (
    select * from {{ ref('configuration_metric') }}
),

stating_studies as (
    select distinct study_id
    from findings
),

own_metrics as (
    select metrics.*
    from metrics
    left join stating_studies
        on metrics.study_id = stating_studies.study_id
    where
        stating_studies.study_id is null
        and metrics.value_median is not null
),

-- A mapping may have several rows, each of other runs; without runs of any of them it has one answer.
questions as (
    select
        finding_id,
        mapping,
        min(mapping_number) as first_mapping_number
    from mappings
    group by
        finding_id,
        mapping
),

matched as (
    select
        mappings.mapping_number,
        mappings.finding_id as asked_finding_id,
        mappings.mapping as asked_mapping,
        own_metrics.*,
        own_metrics.value_median * mappings.value_factor as own_value,
        own_metrics.value_lower * mappings.value_factor as own_lower,
        own_metrics.value_upper * mappings.value_factor as own_upper
    from mappings
    inner join own_metrics
        on
            mappings.metric = own_metrics.metric
            and mappings.role = own_metrics.role
    where
        {{ has_finding_axes('mappings', 'own_metrics') }}
        and (mappings.congested_direction is null or mappings.congested_direction = own_metrics.congested_direction)
        -- Manifests write names as they like.
        and {{ is_listed('mappings.applications', 'lower(own_metrics.application)') }}
        and {{ is_listed('mappings.rival_applications', 'lower(own_metrics.rival_application)') }}
        and (
            mappings.competitor is null
            or (mappings.competitor = 'tcp' and own_metrics.congestion_control is not null and own_metrics.rival_application is null)
        )
),

judged as (
    select
        findings.finding_id,
        findings.study_id as stating_study_id,
        findings.reference,
        findings.subject,
        findings.condition,
        findings.statistic,
        findings.metric_unit,
        findings.stated_low,
        findings.stated_high,
        findings.tolerance_low,
        findings.tolerance_high,
        findings.reading,
        mappings.mapping,
        mappings.words_left_out,
        mappings.direction_low,
        mappings.direction_high,
        mappings.direction_reading,
        mappings.unmapped_reason,
        matched.*,
        case
            when matched.own_value is null then 'no such runs'
            else {{ published_verdict('matched.own_value', 'findings', 'mappings') }}
        end as finding_verdict,
        {{ published_verdict('matched.own_lower', 'findings', 'mappings') }} as verdict_lower,
        {{ published_verdict('matched.own_upper', 'findings', 'mappings') }} as verdict_upper,
        -- An interval around a whole band ends in the same verdict on both of its sides.
        coalesce(matched.own_lower < findings.tolerance_low and matched.own_upper > findings.tolerance_high, false)
        or coalesce(matched.own_lower < mappings.direction_low and matched.own_upper > mappings.direction_high, false) as holds_a_band
    from findings
    inner join questions
        on findings.finding_id = questions.finding_id
    left join matched
        on
            questions.finding_id = matched.asked_finding_id
            and questions.mapping = matched.asked_mapping
    inner join mappings
        on coalesce(matched.mapping_number, questions.first_mapping_number) = mappings.mapping_number
),

final as (
    select
        finding_id
        || '/' || mapping
        || coalesce('/' || configuration_id || '/' || role || '/' || basis, '') as published_replication_id,
        finding_id,
        stating_study_id,
        reference,
        subject,
        condition,
        statistic,
        metric_unit,
        stated_low,
        stated_high,
        tolerance_low,
        tolerance_high,
        reading,
        mapping,
        words_left_out,
        direction_low,
        direction_high,
        direction_reading,
        configuration_id,
        study_id,
        workload,
        direction,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bdp,
        queue_limit_packets,
        queue_label,
        congestion_control,
        application,
        rival_application,
        start_order,
        congested_direction,
        synthetic,
        metric,
        role,
        basis,
        own_value,
        own_lower,
        own_upper,
        case when own_lower is not null then level_ratio end as level_ratio,
        interval_null_reason,
        coalesce(runs, 0) as runs,
        coalesce(excluded_runs, 0) as excluded_runs,
        finding_verdict,
        case
            when own_lower is not null
                then finding_verdict = verdict_lower and finding_verdict = verdict_upper and not holds_a_band
        end as is_verdict_of_interval,
        case
            when own_value is not null then null
            when unmapped_reason is not null then unmapped_reason
            else 'no configuration of another study has what the words say'
        end as not_answered_reason
    from judged
)

select * from final
