with

source as (
    select * from {{ source('lake', 'series') }}
),

final as (
    select
        source_hash,
        decoder_version,
        series_number,
        sample_number,
        series_name,
        flow_name,
        role,
        direction,
        metric,
        unit,
        sample_basis,
        time_ns,
        time_s,
        duration_s,
        value
    from source
)

select * from final
