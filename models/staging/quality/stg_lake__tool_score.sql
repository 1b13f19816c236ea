with

source as (
    select * from {{ source('lake', 'tool_score') }}
),

final as (
    select
        source_hash,
        decoder_version,
        score_number,
        metric as qoe_metric,
        item,
        frame_number,
        score as qoe_score
    from source
)

select * from final
