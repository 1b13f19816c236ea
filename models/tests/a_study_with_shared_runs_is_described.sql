{{ config(
    severity='warn',
    meta={
        'warning': 'studies with shared runs and without a description',
        'advice': 'nothing selects the runs that give demand, so that their harm is unknown; describe the study '
            ~ '(docs/how-to/add-a-study.md)'
    }
) }}

-- Solo runs need no description: nothing of them is compared with demand.
with

runs as (
    select * from {{ ref('stg_lake__run') }}
),

studies as (
    select * from {{ ref('stg_lake__study') }}
),

final as (
    select distinct runs.study_id
    from runs
    left join studies
        on runs.study_id = studies.study_id
    where
        runs.start_order != 'solo'
        and studies.study_id is null
)

select * from final
