with

source as (
    select * from {{ source('lake', 'rating') }}
),

final as (
    select
        source_hash,
        decoder_version,
        rating_number,
        study_id,
        subject_key,
        condition,
        run_id,
        item,
        scale_lowest,
        scale_highest,
        rating,
        is_training,
        presentation_order
    from source
)

select * from final
