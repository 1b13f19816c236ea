with

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
),

final as (
    select distinct
        content_hash as source_hash,
        decoder_version
    from outcomes
    where status != 'rejected'
)

select * from final
