-- Each person's answer to a question under a condition: yes or no if all answers agree, without training answers.
with

answers as (
    select * from {{ ref('stg_lake__rating_answer') }}
),

subjects as (
    select * from {{ ref('int_rating_subject') }}
),

studies as (
    select * from {{ ref('int_study') }}
),

counted as (
    select
        study_id,
        subject_key,
        condition,
        question,
        count(case when not coalesce(is_training, false) then 1 end) as answers,
        count(case when coalesce(is_training, false) then 1 end) as training_answers,
        count(case when not coalesce(is_training, false) and is_yes then 1 end) as yes_answers
    from answers
    group by
        study_id,
        subject_key,
        condition,
        question
),

final as (
    select
        counted.study_id,
        counted.condition,
        counted.question,
        subjects.subject_number,
        coalesce(studies.synthetic, false) as synthetic,
        counted.answers,
        counted.training_answers,
        case
            when counted.answers = 0 then null
            when counted.yes_answers = counted.answers then true
            when counted.yes_answers = 0 then false
        end as is_yes
    from counted
    inner join subjects
        on
            counted.study_id = subjects.study_id
            and counted.subject_key = subjects.subject_key
    left join studies
        on counted.study_id = studies.study_id
)

select * from final
