with

source as (
    select * from {{ source('lake', 'qoe_score') }}
),

final as (
    select
        source_hash,
        decoder_version,
        score_number,
        study_id,
        scored,
        run_id,
        session_id,
        start_ns,
        end_ns,
        item,
        frame_number,
        metric as qoe_metric,
        score as qoe_score
    from source
)

select * from final
