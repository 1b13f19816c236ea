with

source as (
    select * from {{ source('lake', 'qoe_score') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        metric as qoe_metric,
        score as qoe_score
    from source
)

select * from final
