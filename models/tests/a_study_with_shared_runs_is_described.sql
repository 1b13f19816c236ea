{{ config(
    severity='warn',
    meta={
        'warning': 'studies with shared runs and without a description',
        'advice': 'nothing selects the runs that give demand, so that their harm is unknown; describe the study '
            ~ '(docs/how-to/add-a-study.md)'
    }
) }}

-- Solo runs need no description, because they are not compared with demand. Tool results need none either: their solo runs with the same
-- setting give the demand.
with

runs as (
    select * from {{ ref('stg_lake__run') }}
),

studies as (
    select * from {{ ref('stg_lake__study') }}
),

tool_runs as (
    select distinct
        study_id,
        run_id
    from {{ ref('int_run_tool_rate') }}
),

final as (
    select distinct runs.study_id
    from runs
    left join studies
        on runs.study_id = studies.study_id
    left join tool_runs
        on
            runs.study_id = tool_runs.study_id
            and runs.run_id = tool_runs.run_id
    where
        runs.start_order != 'solo'
        and tool_runs.run_id is null
        and studies.study_id is null
)

select * from final
