with

source as (
    select * from {{ source('lake', 'series_flow') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_name,
        congestion_control
    from source
)

select * from final
