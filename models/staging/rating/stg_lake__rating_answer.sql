with

source as (
    select * from {{ source('lake', 'rating_answer') }}
),

final as (
    select
        source_hash,
        decoder_version,
        answer_number,
        study_id,
        subject_key,
        condition,
        run_id,
        question,
        is_yes,
        is_training,
        presentation_order
    from source
)

select * from final
