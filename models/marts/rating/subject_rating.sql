-- Each person's rating of an item under a condition: the mean of the ratings, without duplicates and training ratings.
with

ratings as (
    select * from {{ ref('stg_lake__rating') }}
),

subjects as (
    select * from {{ ref('int_rating_subject') }}
),

studies as (
    select * from {{ ref('int_study') }}
),

numbered as (
    select
        study_id,
        subject_key,
        condition,
        item,
        scale_lowest,
        scale_highest,
        rating,
        coalesce(is_training, false) as is_training,
        row_number() over (
            partition by
                study_id, subject_key, condition, run_id, item, scale_lowest, scale_highest, rating,
                coalesce(is_training, false), presentation_order
            order by source_hash, rating_number
        ) as place
    from ratings
),

counted as (
    select
        study_id,
        subject_key,
        condition,
        item,
        scale_lowest,
        scale_highest,
        count(case when place = 1 and not is_training then 1 end) as ratings,
        count(case when place = 1 and is_training then 1 end) as training_ratings,
        count(case when place > 1 then 1 end) as duplicate_ratings,
        {{ ordered_mean('case when place = 1 and not is_training then rating end') }} as rating_mean
    from numbered
    group by
        study_id,
        subject_key,
        condition,
        item,
        scale_lowest,
        scale_highest
),

final as (
    select
        counted.study_id,
        counted.condition,
        counted.item,
        counted.scale_lowest,
        counted.scale_highest,
        subjects.subject_number,
        coalesce(studies.synthetic, false) as synthetic,
        counted.ratings,
        counted.training_ratings,
        counted.duplicate_ratings,
        counted.rating_mean
    from counted
    inner join subjects
        on
            counted.study_id = subjects.study_id
            and counted.subject_key = subjects.subject_key
    left join studies
        on counted.study_id = studies.study_id
)

select * from final
