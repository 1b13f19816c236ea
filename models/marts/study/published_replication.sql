-- Whether a study's findings also hold in runs of other studies, for every configuration that matches the finding under a named mapping
-- from its words to axes of a configuration. For the recomputation of the study itself, see published_comparison.
with

findings as (
    select * from {{ ref('published_finding') }}
),

mappings as (
    select * from {{ ref('published_mapping') }}
),

measured as (
    select * from {{ ref('configuration_metric') }}
),

run_metrics as (
    select * from {{ ref('run_metric') }}
),

study_runs as (
    select * from {{ ref('run') }}
),

shift_ranks as (
    select * from {{ ref('shift_interval_rank') }}
),

configurations as (
    select * from {{ ref('configuration') }}
),

application_kinds as (
    select * from {{ ref('application_kind') }}
),

throughput_harms as (
    select * from {{ ref('int_run_throughput_harm') }}
    where demand_bps is not null
),

run_configurations as (
    select * from {{ ref('int_run_configuration') }}
),

-- Numerator and denominator of a statement that is a ratio.
asked_ratios as (
    select distinct
        metric,
        role,
        aqm,
        baseline_aqm
    from mappings
    where baseline_aqm is not null
),

-- Pairs of configurations that differ only in the queue.
queue_pairs as (
    select
        asked_ratios.metric,
        asked_ratios.role,
        treatments.configuration_id,
        baselines.configuration_id as baseline_configuration_id,
        baselines.aqm as baseline_aqm,
        baselines.queue_size_bdp as baseline_queue_size_bdp,
        treatments.excluded_runs + baselines.excluded_runs as excluded_runs,
        asked_ratios.metric
        || '/' || asked_ratios.role
        || '/' || treatments.configuration_id
        || '/over/' || baselines.configuration_id
        || '/' as pair_id
    from asked_ratios
    inner join configurations as treatments
        on asked_ratios.aqm = treatments.aqm
    inner join configurations as baselines
        on
            asked_ratios.baseline_aqm = baselines.aqm
            {%- for column in dimension_names('configuration')
                if column not in ('aqm', 'queue_size_bdp', 'queue_size_bytes', 'queue_limit_packets', 'queue_label') %}
                and treatments.{{ column }} is not distinct from baselines.{{ column }}
            {%- endfor %}
),

ratio_values as (
    {%- for term, configuration in [('value', 'configuration_id'), ('baseline', 'baseline_configuration_id')] %}
        select
            queue_pairs.pair_id || run_metrics.basis as group_id,
            '{{ term }}' as term,
            run_metrics.metric_value as own_value
        from queue_pairs
        inner join run_metrics
            on
                queue_pairs.{{ configuration }} = run_metrics.configuration_id
                and queue_pairs.metric = run_metrics.metric
                and queue_pairs.role = run_metrics.role
        inner join study_runs
            on
                run_metrics.study_id = study_runs.study_id
                and run_metrics.run_id = study_runs.run_id
        where study_runs.exclusion_reason is null
        {%- if not loop.last %}

            union all
        {% endif %}
    {%- endfor %}
),

{{ ratio_intervals('ratio_values', 'shift_ranks') }},

own_figures as (
    select
        configuration_id,
        metric,
        role,
        basis,
        cast(null as string) as baseline_configuration_id,
        cast(null as string) as baseline_aqm,
        cast(null as double) as baseline_queue_size_bdp,
        value_median as metric_value,
        value_lower as metric_lower,
        value_upper as metric_upper,
        level_ratio,
        interval_null_reason,
        runs,
        excluded_runs
    from measured
    where value_median is not null

    union all

    select
        measured.configuration_id,
        measured.metric,
        measured.role,
        measured.basis,
        queue_pairs.baseline_configuration_id,
        queue_pairs.baseline_aqm,
        queue_pairs.baseline_queue_size_bdp,
        of_ratios.own_value as metric_value,
        of_ratios.own_lower as metric_lower,
        of_ratios.own_upper as metric_upper,
        case when of_ratios.own_lower is not null then cast(0.95 as double) end as level_ratio,
        case when of_ratios.own_lower is null then 'too few runs with either queue for a 95% interval of the ratio' end
            as interval_null_reason,
        of_ratios.runs,
        queue_pairs.excluded_runs
    from measured
    inner join queue_pairs
        on
            measured.configuration_id = queue_pairs.configuration_id
            and measured.metric = queue_pairs.metric
            and measured.role = queue_pairs.role
    inner join of_ratios
        on queue_pairs.pair_id || measured.basis = of_ratios.group_id
),

metrics as (
    select
        own_figures.*,
        {{ selected_dimensions('configuration', 'configurations') }}
    from own_figures
    inner join configurations
        on own_figures.configuration_id = configurations.configuration_id
),

-- Solo rate of the application of a role, by the demand rule of its study; it is the same for all runs of a configuration.
demands as (
    select
        run_configurations.configuration_id,
        throughput_harms.role,
        max(throughput_harms.demand_bps) as demand_bps
    from throughput_harms
    inner join run_configurations
        on
            throughput_harms.study_id = run_configurations.study_id
            and throughput_harms.run_id = run_configurations.run_id
    group by
        run_configurations.configuration_id,
        throughput_harms.role
),

stating_studies as (
    select distinct study_id
    from findings
),

-- Manifests may write names in any case.
own_metrics as (
    select
        metrics.*,
        application_kinds.application_kind,
        demands.demand_bps
    from metrics
    left join stating_studies
        on metrics.study_id = stating_studies.study_id
    left join application_kinds
        on lower(metrics.application) = application_kinds.application
    left join demands
        on
            metrics.configuration_id = demands.configuration_id
            and demands.role = case when metrics.role = 'rival' then 'rival' else 'app' end
    where stating_studies.study_id is null
),

-- A mapping may have several rows for different runs; if none of them has runs, it gives one row.
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

met as (
    select
        mappings.mapping_number,
        mappings.finding_id as asked_finding_id,
        mappings.mapping as asked_mapping,
        own_metrics.*,
        own_metrics.metric_value * mappings.value_factor as own_value,
        own_metrics.metric_lower * mappings.value_factor as own_lower,
        own_metrics.metric_upper * mappings.value_factor as own_upper,
        row_number() over (
            partition by
                mappings.finding_id, own_metrics.configuration_id, own_metrics.role, own_metrics.basis,
                own_metrics.baseline_configuration_id
            order by mappings.mapping_number
        ) as preference
    from mappings
    inner join own_metrics
        on
            mappings.metric = own_metrics.metric
            and mappings.role = own_metrics.role
    where
        {{ has_finding_axes('mappings', 'own_metrics') }}
        and mappings.baseline_aqm is not distinct from own_metrics.baseline_aqm
        and {{ is_queue_size('mappings.baseline_queue_size_bdp', 'own_metrics.baseline_queue_size_bdp') }}
        and (mappings.application_kind is null or mappings.application_kind = own_metrics.application_kind)
        and (mappings.demand_low_ratio is null or mappings.demand_low_ratio * own_metrics.bandwidth_bps <= own_metrics.demand_bps)
        and (mappings.demand_high_ratio is null or mappings.demand_high_ratio * own_metrics.bandwidth_bps >= own_metrics.demand_bps)
        and {{ is_listed('mappings.applications', 'lower(own_metrics.application)') }}
        and {{ is_listed('mappings.rival_applications', 'lower(own_metrics.rival_application)') }}
        and (
            mappings.competitor is null
            or (mappings.competitor = 'tcp' and own_metrics.congestion_control is not null and own_metrics.rival_application is null)
        )
        -- A statement without a congested direction applies to the direction that is congested.
        and case
            when mappings.congested_direction is not null then mappings.congested_direction = own_metrics.congested_direction
            when own_metrics.congested_direction is null or own_metrics.congested_direction = 'both' then true
            else
                own_metrics.congested_direction
                = case own_metrics.direction when 'uplink' then 'upstream' when 'downlink' then 'downstream' end
        end
),

-- A configuration answers a finding once, under the mapping that leaves out the fewest words.
matched as (
    select * from met
    where preference = 1
),

-- A printed number stands for all values that round to it.
stated as (
    select
        *,
        tolerance_low - coalesce(printed_step, 0) / 2 as agrees_from,
        tolerance_high + coalesce(printed_step, 0) / 2 as agrees_to
    from findings
),

judged as (
    select
        stated.finding_id,
        stated.study_id as stating_study_id,
        stated.reference,
        stated.subject,
        stated.condition,
        stated.statistic,
        stated.metric_unit,
        stated.stated_low,
        stated.stated_high,
        stated.tolerance_low,
        stated.tolerance_high,
        stated.reading,
        mappings.mapping,
        mappings.words_left_out,
        mappings.direction_low,
        mappings.direction_high,
        mappings.direction_reading,
        mappings.unmapped_reason,
        matched.*,
        {{ is_within_band('matched.own_lower', 'matched.own_upper', 'stated.agrees_from', 'stated.agrees_to') }}
            as is_within_tolerance,
        {{ is_within_band('matched.own_lower', 'matched.own_upper', 'mappings.direction_low', 'mappings.direction_high') }} as is_on_side,
        {{ is_within_band('matched.own_upper', 'matched.own_lower', 'stated.agrees_from', 'stated.agrees_to') }}
        or {{ is_within_band('matched.own_upper', 'matched.own_lower', 'mappings.direction_low', 'mappings.direction_high') }}
            as has_value_on_side
    from stated
    inner join questions
        on stated.finding_id = questions.finding_id
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
        || coalesce('/' || configuration_id || '/' || role || '/' || basis, '')
        || coalesce('/over/' || baseline_configuration_id, '') as published_replication_id,
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
        baseline_configuration_id,
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
        case
            when own_value is null then 'no such runs'
            when own_lower is null then 'cannot tell'
            when is_within_tolerance then 'agrees'
            when is_on_side then 'same side'
            when has_value_on_side then 'cannot tell'
            else 'contradicts'
        end as finding_verdict,
        case
            when own_value is null then null
            when own_lower is null then 'no interval: ' || interval_null_reason
            when is_within_tolerance then 'the whole interval is within the tolerance'
            when is_on_side then 'the whole interval is on the side of the statement, but not within the tolerance'
            when has_value_on_side then 'only part of the interval is within the tolerance or on the side of the statement'
            else 'no value of the interval is within the tolerance or on the side of the statement'
        end as verdict_reason,
        case
            when own_value is not null then null
            when unmapped_reason is not null then unmapped_reason
            when mapping = 'any_rate' then 'no further configuration of another study matches the statement'
            else 'no configuration of another study matches the statement'
        end as not_answered_reason
    from judged
)

select * from final
