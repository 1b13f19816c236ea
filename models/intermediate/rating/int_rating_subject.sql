-- People who rated or answered, numbered so that marts never contain the study's own key of a person.
with

ratings as (
    select * from {{ ref('stg_lake__rating') }}
),

answers as (
    select * from {{ ref('stg_lake__rating_answer') }}
),

subjects as (
    select
        study_id,
        subject_key
    from ratings
    union distinct
    select
        study_id,
        subject_key
    from answers
),

final as (
    select
        study_id,
        subject_key,
        cast(row_number() over (partition by study_id order by subject_key) as bigint) as subject_number
    from subjects
)

select * from final
