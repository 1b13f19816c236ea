with

source as (
    select * from {{ source('lake', 'capture_link') }}
),

final as (
    select
        source_hash,
        decoder_version,
        link_type,
        link_type_name,
        records
    from source
)

select * from final
