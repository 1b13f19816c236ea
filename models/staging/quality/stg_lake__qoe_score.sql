with

source as (
    select * from {{ source('lake', 'qoe_score') }}
),

numbered as (
    select
        *,
        row_number() over (partition by study_id, scored, metric order by source_hash) as place
    from source
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        scored,
        run_id,
        session_id,
        start_ns,
        end_ns,
        metric as qoe_metric,
        score as qoe_score
    from numbered
    where place = 1
)

select * from final
