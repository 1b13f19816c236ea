with

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
),

final as (
    select distinct
        content_hash as source_hash,
        decoder_version
    from outcomes
    where
        status != 'rejected'
        -- A file that is now part of a recording no longer has facts of its own, but an earlier build may have counted it alone.
        and part_of is null
)

select * from final
