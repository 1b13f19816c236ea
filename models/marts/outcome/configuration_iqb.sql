{%- set key = ['configuration_id', 'role', 'delay_basis', 'latency_statistic'] -%}
-- Internet Quality Barometer scores over the runs of a configuration: medians of the bounds, their exact interval, and ranks.
with

scores_of_runs as (
    select * from {{ ref('run_iqb') }}
),

runs as (
    select * from {{ ref('run') }}
),

configurations as (
    select * from {{ ref('configuration') }}
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

placed as (
    select
        runs.configuration_id,
        scores_of_runs.role,
        scores_of_runs.delay_basis,
        scores_of_runs.latency_statistic,
        scores_of_runs.run_id,
        runs.exclusion_reason,
        scores_of_runs.missing_quantities,
        scores_of_runs.binding_use_case,
        scores_of_runs.binding_requirement,
        case when runs.exclusion_reason is null then scores_of_runs.iqb_lower_score end as iqb_lower_score,
        case when runs.exclusion_reason is null then scores_of_runs.iqb_upper_score end as iqb_upper_score
    from scores_of_runs
    inner join runs
        on
            scores_of_runs.study_id = runs.study_id
            and scores_of_runs.run_id = runs.run_id
),

{{ binding_in_most_runs('placed', key, ['binding_requirement', 'binding_use_case']) }},

ordered as (
    select
        *,
        row_number() over (
            partition by {{ key | join(', ') }}
            order by case when iqb_lower_score is null then 1 else 0 end, iqb_lower_score, run_id
        ) as lower_place,
        row_number() over (
            partition by {{ key | join(', ') }}
            order by case when iqb_upper_score is null then 1 else 0 end, iqb_upper_score, run_id
        ) as upper_place,
        count(iqb_lower_score) over (partition by {{ key | join(', ') }}) as scored_runs
    from placed
),

summarised as (
    select
        {%- for column in key %}
            ordered.{{ column }},
        {%- endfor %}
        count(ordered.iqb_lower_score) as runs,
        count(ordered.exclusion_reason) as excluded_runs,
        median(ordered.iqb_lower_score) as iqb_lower_score_median,
        median(ordered.iqb_upper_score) as iqb_upper_score_median,
        max(case when ordered.lower_place = interval_ranks.lower_rank then ordered.iqb_lower_score end) as iqb_interval_lower,
        max(case when ordered.upper_place = interval_ranks.upper_rank then ordered.iqb_upper_score end) as iqb_interval_upper,
        -- A quantity that one run lacks, the configuration lacks too.
        max(case when ordered.exclusion_reason is null and ordered.missing_quantities like '%download%' then 'download' end)
            as missing_download,
        max(case when ordered.exclusion_reason is null and ordered.missing_quantities like '%upload%' then 'upload' end) as missing_upload,
        max(case when ordered.exclusion_reason is null and ordered.missing_quantities like '%loss%' then 'loss' end) as missing_loss
    from ordered
    left join interval_ranks
        on ordered.scored_runs = interval_ranks.runs
    group by
        {%- for column in key %}
            ordered.{{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
),

described as (
    select
        {{ key | join(',\n        ') }},
        runs,
        excluded_runs,
        iqb_lower_score_median,
        iqb_upper_score_median,
        iqb_interval_lower,
        iqb_interval_upper,
        nullif(concat_ws(', ', missing_download, missing_upload, missing_loss), '') as missing_quantities
    from summarised
),

-- Configurations are compared if rate, round-trip time, application, direction and unknown quantities are the same.
ranked as (
    select
        described.*,
        rank() over (
            partition by
                {{ setting_beside_queue('configurations') }},
                described.role, described.delay_basis, described.latency_statistic, described.missing_quantities
            order by
                case when described.iqb_lower_score_median is null then 1 else 0 end, described.iqb_lower_score_median desc
        ) as score_rank
    from described
    inner join configurations
        on described.configuration_id = configurations.configuration_id
),

at_p95 as (
    select
        configuration_id,
        role,
        delay_basis,
        score_rank
    from ranked
    where latency_statistic = 'loaded_p95'
),

final as (
    select
        {%- for column in key %}
            ranked.{{ column }},
        {%- endfor %}
        ranked.runs,
        ranked.excluded_runs,
        case
            when ranked.iqb_lower_score_median = ranked.iqb_upper_score_median then ranked.iqb_lower_score_median
        end as iqb_score_median,
        ranked.iqb_lower_score_median,
        ranked.iqb_upper_score_median,
        ranked.iqb_interval_lower,
        ranked.iqb_interval_upper,
        ranked.missing_quantities,
        binding.binding_use_case,
        binding.binding_requirement,
        binding.binding_runs,
        {{ median_interval_columns('ranked.iqb_interval_lower', 'ranked.runs') }},
        case when ranked.runs > 0 then cast(ranked.score_rank as bigint) end as score_rank,
        case when ranked.runs > 0 then cast(at_p95.score_rank as bigint) end as score_rank_at_p95,
        case when ranked.runs > 0 then ranked.score_rank != at_p95.score_rank end as is_rank_changed
    from ranked
    left join binding
        on {{ same_columns('ranked', 'binding', key) }}
    left join at_p95
        on
            ranked.configuration_id = at_p95.configuration_id
            and ranked.role = at_p95.role
            and ranked.delay_basis = at_p95.delay_basis
)

select * from final
