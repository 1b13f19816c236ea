-- Scores that studies give or that tools wrote beside a run, without duplicates: the same value for the same frame of the same item is one
-- score, whatever files contain it.
with

given_scores as (
    select * from {{ ref('stg_lake__qoe_score') }}
),

tool_scores as (
    select * from {{ ref('stg_lake__tool_score') }}
),

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where is_usable
),

united as (
    select
        source_hash || '/' || {{ plain_text('score_number') }} as score_id,
        source_hash,
        score_number,
        study_id,
        scored,
        run_id,
        session_id,
        start_ns,
        end_ns,
        'run_id' as join_basis,
        item,
        frame_number,
        qoe_metric,
        qoe_score
    from given_scores

    union all

    -- Several runs may have files with the same content, such as scores of frames without loss. Each run then has the score.
    select
        tool_scores.source_hash || '/' || {{ plain_text('tool_scores.score_number') }}
        || '/' || {{ id_part('run_sources.study_id') }} || '/' || run_sources.run_id as score_id,
        tool_scores.source_hash,
        tool_scores.score_number,
        run_sources.study_id,
        'run/' || run_sources.run_id as scored,
        run_sources.run_id,
        cast(null as string) as session_id,
        cast(null as bigint) as start_ns,
        cast(null as bigint) as end_ns,
        'file_of_run' as join_basis,
        tool_scores.item,
        tool_scores.frame_number,
        tool_scores.qoe_metric,
        tool_scores.qoe_score
    from tool_scores
    inner join run_sources
        on tool_scores.source_hash = run_sources.measurement_hash
),

numbered as (
    select
        *,
        count(*) over (partition by study_id, scored, qoe_metric, item, frame_number, qoe_score) as copies,
        row_number() over (
            partition by study_id, scored, qoe_metric, item, frame_number, qoe_score
            order by source_hash, score_number
        ) as place
    from united
),

final as (
    select
        score_id,
        study_id,
        scored,
        run_id,
        session_id,
        start_ns,
        end_ns,
        join_basis,
        item,
        frame_number,
        qoe_metric,
        qoe_score,
        copies
    from numbered
    where place = 1
)

select * from final
