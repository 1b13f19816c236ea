-- Every value from which a finding is recomputed: from runs of the study that states it, connections in a data set with its name, or its
-- subjects. The seed published_selection selects them; published_comparison combines them into one figure.
with

findings as (
    select * from {{ ref('published_finding') }}
),

selections as (
    select * from {{ ref('published_selection') }}
),

study_runs as (
    select * from {{ ref('run') }}
),

run_metrics as (
    select * from {{ ref('run_metric') }}
),

utilisations as (
    select * from {{ ref('run_utilisation') }}
),

utilisation_checks as (
    select * from {{ ref('run_utilisation_check') }}
),

concurrencies as (
    select * from {{ ref('run_flow_concurrency') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
),

queues as (
    select * from {{ ref('run_queue') }}
),

opposite_links as (
    select * from {{ ref('int_run_opposite_link') }}
),

page_loads as (
    select * from {{ ref('run_page_load') }}
),

quality_items as (
    select * from {{ ref('run_quality') }}
),

phases as (
    select * from {{ ref('run_phase') }}
),

reactions as (
    select * from {{ ref('step_reaction') }}
),

ratings as (
    select * from {{ ref('subject_rating') }}
),

t_quantiles as (
    select * from {{ ref('student_t_quantile') }}
),

connections as (
    select * from {{ ref('int_study_connection') }}
),

stating_studies as (
    select distinct study_id
    from findings
),

-- The link and queue of the other direction, which the same log may contain.
other_links as (
    select
        opposite_links.*,
        queues.max_ms as queuing_delay_max_ms,
        queues.mean_ms as queuing_delay_mean_ms
    from opposite_links
    left join queues
        on
            opposite_links.study_id = queues.study_id
            and opposite_links.run_id = queues.run_id
            and opposite_links.queue_number = queues.queue_number
),

of_other_links as (
    {%- for metric in [
        'queuing_delay_max_ms', 'queuing_delay_mean_ms', 'utilisation_ratio', 'utilisation_standard_deviation_ratio', 'drop_ratio',
    ] %}
        select
            study_id,
            run_id,
            link_direction as item,
            'all' as role,
            '{{ metric }}' as metric,
            cast({{ metric }} as double) as metric_value,
            link_direction as own_direction,
            link_bandwidth_bps as own_bandwidth_bps,
            link_aqm as own_aqm,
            link_queue_size_bdp as own_queue_size_bdp,
            link_queue_limit_packets as own_queue_limit_packets
        from other_links
        {%- if not loop.last %}

            union all
        {% endif %}
    {%- endfor %}
),

-- A value may belong to another link than the one its run is named after; the columns own_… give that link.
of_runs as (
    {%- for relation, item, role, metric, value, condition in [
        ('run_metrics', 'basis', 'role', 'metric', 'metric_value', none),
        (
            'utilisations', "'run'", "'all'", "'utilisation_standard_deviation_ratio'",
            'utilisation_standard_deviation_ratio', none,
        ),
        (
            'utilisation_checks', "'run'", "'tcp'", "'is_below_utilisation_check'",
            'case when is_passed then 0 else 1 end', 'is_passed is not null',
        ),
        ('concurrencies', "'run'", "'all'", "'mean_tcp_flows'", 'mean_tcp_flows', none),
        ('delays', "'bottleneck'", 'role', "'queuing_delay_max_ms'", 'max_ms', none),
        ('page_loads', 'item', "'all'", "'page_load_time_ms'", 'page_load_time_ms', "load_basis = 'measured'"),
        ('quality_items', 'item', "'app'", "'ssim'", 'score', "qoe_model_id = 'ssim-to-mos'"),
        ('phases', "'competing'", 'incumbent_role', "'incumbent_rate_bps'", 'incumbent_rate_bps', "run_phase = 'competing'"),
    ] %}
        select
            study_id,
            run_id,
            {{ item }} as item,
            {{ role }} as role,
            {{ metric }} as metric,
            cast({{ value }} as double) as metric_value,
            cast(null as string) as own_direction,
            cast(null as bigint) as own_bandwidth_bps,
            cast(null as string) as own_aqm,
            cast(null as double) as own_queue_size_bdp,
            cast(null as bigint) as own_queue_limit_packets
        from {{ relation }}
        {%- if condition %}
            where {{ condition }}
        {%- endif %}

        union all
    {% endfor %}
    select * from of_other_links
),

described as (
    select
        of_runs.study_id,
        of_runs.run_id,
        of_runs.item,
        of_runs.role,
        of_runs.metric,
        of_runs.metric_value,
        'run' as population,
        cast(1 as bigint) as units,
        study_runs.workload,
        coalesce(of_runs.own_direction, study_runs.direction) as direction,
        of_runs.own_direction is not null as is_other_link,
        study_runs.congested_direction,
        {%- for column in ['bandwidth_bps', 'aqm', 'queue_size_bdp', 'queue_limit_packets'] %}
            case when of_runs.own_direction is null then study_runs.{{ column }} else of_runs.own_{{ column }} end as {{ column }},
        {%- endfor %}
        study_runs.rtt_ms,
        study_runs.congestion_control,
        lower(study_runs.application) as application,
        lower(study_runs.rival_application) as rival_application,
        study_runs.start_order,
        study_runs.window_ms,
        study_runs.exclusion_reason,
        study_runs.synthetic
    from of_runs
    inner join study_runs
        on
            of_runs.study_id = study_runs.study_id
            and of_runs.run_id = study_runs.run_id
    inner join stating_studies
        on of_runs.study_id = stating_studies.study_id
    where of_runs.metric_value is not null
),

-- Profiles from a study's tables need not name a run; they give their own configuration. A run with two captures has two profiles: the rate
-- sent is before the bottleneck. Behind it, the rate falls with the link at once.
of_steps as (
    select
        profile_id || '/' || {{ plain_text('step_number') }} as item,
        'step_fall_reaction_ms' as metric,
        reaction_ms as metric_value,
        to_bps as step_bandwidth_bps,
        reactions.*
    from reactions
    where
        reaction = 'fall_below'
        and rate_basis = 'capture_before'

    union all

    select
        profile_id || '/' || {{ plain_text('step_number') }} as item,
        'send_rate_before_step_bps' as metric,
        rate_before_bps as metric_value,
        from_bps as step_bandwidth_bps,
        reactions.*
    from reactions
    where
        reaction = 'fall_below'
        and rate_basis = 'capture_before'

    union all

    -- The demand is a rate of received data. So is the rate in a study's table.
    select
        profile_id || '/' || {{ plain_text('step_number') }} as item,
        'is_demand_reached' as metric,
        -- A step that ends before the demand could be held, or before the run sent anything in it, is inconclusive.
        case
            when demand_reached_ms is not null then cast(1 as double)
            when demand_reached_null_reason in ('reached and not held', 'not before the next step') then cast(0 as double)
        end as metric_value,
        to_bps as step_bandwidth_bps,
        reactions.*
    from reactions
    where
        reaction = 'back'
        and demand_bps is not null
        and rate_basis in ('capture_after', 'study_table')
),

of_profiles as (
    select
        of_steps.study_id,
        of_steps.run_id,
        of_steps.item,
        of_steps.role,
        of_steps.metric,
        of_steps.metric_value,
        'run' as population,
        cast(1 as bigint) as units,
        of_steps.workload,
        of_steps.direction,
        false as is_other_link,
        study_runs.congested_direction,
        of_steps.step_bandwidth_bps as bandwidth_bps,
        of_steps.aqm,
        of_steps.queue_size_bdp,
        of_steps.queue_limit_packets,
        of_steps.rtt_ms,
        of_steps.congestion_control,
        lower(of_steps.application) as application,
        lower(of_steps.rival_application) as rival_application,
        of_steps.start_order,
        study_runs.window_ms,
        of_steps.exclusion_reason,
        coalesce(study_runs.synthetic, false) as synthetic
    from of_steps
    left join study_runs
        on
            of_steps.study_id = study_runs.study_id
            and of_steps.run_id = study_runs.run_id
    where of_steps.metric_value is not null
),

scored as (
    select
        study_id,
        condition,
        item,
        synthetic,
        count(*) as subjects,
        {{ ordered_mean('rating_mean') }} as score_mean,
        stddev_samp(rating_mean) as score_deviation
    from ratings
    where rating_mean is not null
    group by study_id, condition, item, synthetic
),

scored_intervals as (
    select
        scored.*,
        count(*) over (partition by scored.study_id, scored.item, scored.synthetic) as conditions,
        min(scored.condition) over (partition by scored.study_id, scored.item, scored.synthetic) as first_condition,
        t_quantiles.quantile * scored.score_deviation / sqrt(scored.subjects) as half_width
    from scored
    inner join t_quantiles
        on
            scored.subjects - 1 = t_quantiles.degrees_of_freedom
            and t_quantiles.level_ratio = 0.95
),

of_subjects as (
    select
        study_id,
        'subjects' as item,
        'subjects' as metric,
        cast(count(distinct subject_number) as double) as metric_value,
        count(distinct subject_number) as units,
        synthetic
    from ratings
    group by study_id, synthetic

    union all

    select
        first_scores.study_id,
        first_scores.item || '/' || {{ id_part('first_scores.condition') }} || '/' || {{ id_part('second_scores.condition') }} as item,
        'rating_intervals_apart' as metric,
        case
            when abs(first_scores.score_mean - second_scores.score_mean) > first_scores.half_width + second_scores.half_width
                then cast(1 as double)
            else cast(0 as double)
        end as metric_value,
        least(first_scores.subjects, second_scores.subjects) as units,
        first_scores.synthetic
    from scored_intervals as first_scores
    inner join scored_intervals as second_scores
        on
            first_scores.study_id = second_scores.study_id
            and first_scores.item = second_scores.item
            and first_scores.synthetic = second_scores.synthetic
            and first_scores.condition < second_scores.condition
    -- As in rating_contrast, of many conditions each is compared only with the first by name.
    where
        first_scores.conditions <= 100
        or first_scores.condition = first_scores.first_condition
),

of_people as (
    select
        study_id,
        item,
        metric,
        metric_value,
        'subject' as population,
        units,
        synthetic
    from of_subjects

    union all

    select
        study_id,
        'data set' as item,
        metric,
        metric_value,
        population,
        units,
        synthetic
    from connections
),

-- Values without a run have no configuration; only a selection without conditions on it matches them.
named as (
    select * from described

    union all

    select * from of_profiles

    union all

    select
        study_id,
        null as run_id,
        item,
        'all' as role,
        metric,
        metric_value,
        population,
        units,
        null as workload,
        null as direction,
        false as is_other_link,
        null as congested_direction,
        null as bandwidth_bps,
        null as aqm,
        null as queue_size_bdp,
        null as queue_limit_packets,
        null as rtt_ms,
        null as congestion_control,
        null as application,
        null as rival_application,
        null as start_order,
        null as window_ms,
        null as exclusion_reason,
        synthetic
    from of_people
),

selected as (
    select
        named.*,
        findings.finding_id,
        selections.selection_number,
        selections.statistic as own_statistic,
        selections.term,
        selections.stated_end,
        selections.second_metric,
        selections.group_columns,
        named.metric_value * selections.value_factor as own,
        -- The role of the metric is the incumbent's, which may be the application or its rival.
        case when selections.role = 'rival' then named.rival_application else named.application end as incumbent,
        row_number() over (
            partition by findings.finding_id, selections.term, named.study_id, named.run_id, named.item, named.role, named.metric
            order by selections.selection_number
        ) as preference
    from findings
    inner join selections
        on findings.finding_id = selections.finding_id
    inner join named
        on
            findings.study_id = named.study_id
            and selections.metric = named.metric
            and selections.role = named.role
    where
        (selections.application is null or selections.application = named.application)
        and (selections.rival_application is null or selections.rival_application = named.rival_application)
        and (
            selections.competitor is null
            or (selections.competitor = 'tcp' and named.congestion_control is not null and named.rival_application is null)
        )
        and (selections.congested_direction is null or selections.congested_direction = named.congested_direction)
        and (selections.queue_limit_packets is null or selections.queue_limit_packets = named.queue_limit_packets)
        -- A statement that names no direction is about the bottleneck, except in figures with the congested direction on an axis.
        and (
            not named.is_other_link
            or selections.direction is not null
            or selections.group_columns like '%congested_direction%'
        )
        and (selections.window_ms is null or abs(selections.window_ms - named.window_ms) <= 0.01 * selections.window_ms)
        and {{ has_finding_axes('selections', 'named') }}
),

final as (
    select
        selected.finding_id
        || '/' || selected.term
        || '/' || {{ id_part('coalesce(selected.run_id, selected.study_id)') }}
        || '/' || selected.metric
        || '/' || selected.role
        || '/' || selected.item as published_figure_id,
        selected.finding_id,
        selected.selection_number,
        selected.study_id,
        selected.run_id,
        selected.item,
        selected.role,
        selected.metric,
        selected.own_statistic,
        selected.term,
        selected.stated_end,
        selected.own as own_value,
        partners.metric_value as second_value,
        selected.population,
        selected.units,
        case when selected.group_columns like '%application%' then selected.application end as application,
        case when selected.group_columns like '%incumbent%' then selected.incumbent end as incumbent,
        case when selected.group_columns like '%workload%' then selected.workload end as workload,
        case
            when concat(';', selected.group_columns, ';') like '%;direction;%' then selected.direction
        end as direction,
        case when selected.group_columns like '%congested_direction%' then selected.congested_direction end as congested_direction,
        case when selected.group_columns like '%bandwidth_bps%' then selected.bandwidth_bps end as bandwidth_bps,
        case when selected.group_columns like '%rtt_ms%' then selected.rtt_ms end as rtt_ms,
        case when selected.group_columns like '%queue_size_bdp%' then selected.queue_size_bdp end as queue_size_bdp,
        case when selected.group_columns like '%queue_limit_packets%' then selected.queue_limit_packets end as queue_limit_packets,
        case when selected.group_columns like '%congestion_control%' then selected.congestion_control end as congestion_control,
        case when selected.group_columns like '%start_order%' then selected.start_order end as start_order,
        case when selected.own_statistic = 'highest_median' then selected.workload end as cell,
        selected.exclusion_reason,
        selected.synthetic
    from selected
    left join run_metrics as partners
        on
            selected.study_id = partners.study_id
            and selected.run_id = partners.run_id
            and selected.role = partners.role
            and selected.second_metric = partners.metric
    -- A value in several selections of a finding counts once.
    where
        selected.preference = 1
        and (
            selected.second_metric is null
            or partners.metric_value is not null
        )
)

select * from final
