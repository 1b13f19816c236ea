with

source as (
    select * from {{ source('lake', 'connection_dataset') }}
),

final as (
    select
        source_hash,
        decoder_version,
        dataset,
        title,
        description,
        citation,
        licence,
        url,
        synthetic
    from source
)

select * from final
