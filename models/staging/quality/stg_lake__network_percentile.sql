with

source as (
    select * from {{ source('lake', 'network_percentile') }}
),

final as (
    select
        source_hash,
        decoder_version,
        network_metric,
        percentile,
        metric_value,
        tests
    from source
)

select * from final
