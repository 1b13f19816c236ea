with

source as (
    select * from {{ source('lake', 'study') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        title,
        description,
        citation,
        licence,
        url,
        synthetic
    from source
)

select * from final
