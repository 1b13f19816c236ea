with

described as (
    select * from {{ ref('stg_lake__study') }}
),

runs as (
    select * from {{ ref('stg_lake__run') }}
),

undescribed as (
    select distinct runs.study_id
    from runs
    left join described
        on runs.study_id = described.study_id
    where described.study_id is null
),

final as (
    select
        study_id,
        title,
        description,
        citation,
        licence,
        url,
        synthetic
    from described
    union all
    select
        study_id,
        study_id as title,
        'No description of this study was supplied, so nothing selects the runs that give demand.' as description,
        null as citation,
        'not stated' as licence,
        null as url,
        false as synthetic
    from undescribed
)

select * from final
