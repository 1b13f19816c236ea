-- One value per item of a run: the scores of its frames are reduced by the rule of the metric. Scores outside the scale of their metric are
-- left out, and qoe_join counts them. A PESQ outside the scale is kept, because the mart of speech shows such a sample with the reason why
-- it has no MOS.
with

given_scores as (
    select * from {{ ref('int_qoe_score_of_run') }}
),

metrics as (
    select * from {{ ref('qoe_metric') }}
),

reductions as (
    select * from {{ ref('qoe_reduction') }}
),

scores as (
    select given_scores.*
    from given_scores
    left join metrics
        on given_scores.qoe_metric = metrics.qoe_metric
    where
        given_scores.qoe_metric = 'pesq'
        or (
            given_scores.qoe_score >= coalesce(metrics.lowest_score, given_scores.qoe_score)
            and given_scores.qoe_score <= coalesce(metrics.highest_score, given_scores.qoe_score)
        )
),

numbered as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, qoe_metric, scored, item, frame_number
            order by score_id
        ) as score_place
    from scores
),

escaped as (
    select
        study_id,
        run_id,
        qoe_metric,
        scored,
        {{ id_part('item', separators='#') }} as item,
        join_basis,
        frame_number,
        score_id,
        qoe_score,
        score_place
    from numbered
),

-- A score without an item and a frame is its own item. Numbers of scores follow a #, which is escaped in the names of items.
named as (
    select
        study_id,
        run_id,
        qoe_metric,
        case
            when item is not null and frame_number is not null then scored || '/' || item
            when item is not null then scored || '/' || item || '#' || {{ plain_text('score_place') }}
            when frame_number is not null then scored
            else scored || '#' || {{ plain_text('score_place') }}
        end as item,
        join_basis,
        frame_number,
        score_id,
        qoe_score
    from escaped
),

placed as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, qoe_metric, item
            order by frame_number desc, score_id asc
        ) as place_from_end
    from named
),

final as (
    select
        placed.study_id,
        placed.run_id,
        placed.qoe_metric,
        placed.item,
        min(placed.join_basis) as join_basis,
        count(placed.frame_number) as frames,
        max(case when placed.frame_number is not null then reductions.reduction_id end) as reduction_id,
        max(case when placed.frame_number is not null then reductions.reduction_version end) as reduction_version,
        {{ ordered_mean('placed.qoe_score') }} as qoe_score
    from placed
    left join reductions
        on placed.qoe_metric = reductions.qoe_metric
    where placed.frame_number is null or reductions.last_frames is null or placed.place_from_end <= reductions.last_frames
    group by
        placed.study_id,
        placed.run_id,
        placed.qoe_metric,
        placed.item
)

select * from final
