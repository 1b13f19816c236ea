with

studies as (
    select * from {{ ref('int_study') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

run_counts as (
    select
        study_id,
        count(*) as runs,
        count(exclusion_reason) as excluded_runs
    from runs
    group by study_id
),

final as (
    select
        studies.study_id,
        studies.title,
        studies.description,
        studies.citation,
        studies.licence,
        studies.url,
        studies.synthetic,
        coalesce(run_counts.runs, 0) as runs,
        coalesce(run_counts.excluded_runs, 0) as excluded_runs
    from studies
    left join run_counts
        on studies.study_id = run_counts.study_id
)

select * from final
