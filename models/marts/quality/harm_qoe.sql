with

given_scores as (
    select * from {{ ref('int_qoe_item') }}
),

qoe_metrics as (
    select * from {{ ref('qoe_metric') }}
),

app_harms as (
    select * from {{ ref('run_harm') }}
    where
        role = 'app'
        and harm_metric = 'throughput'
),

-- Several items of one run, such as clips or the windows of a call, give one value: their median. A failed PESQ does not count.
scores as (
    select
        given_scores.study_id,
        given_scores.run_id,
        given_scores.qoe_metric,
        min(given_scores.join_basis) as join_basis,
        count(*) as scores,
        median(given_scores.qoe_score) as qoe_score
    from given_scores
    left join qoe_metrics
        on given_scores.qoe_metric = qoe_metrics.qoe_metric
    where
        given_scores.qoe_score >= coalesce(qoe_metrics.lowest_score, given_scores.qoe_score)
        and given_scores.qoe_score <= coalesce(qoe_metrics.highest_score, given_scores.qoe_score)
    group by
        given_scores.study_id,
        given_scores.run_id,
        given_scores.qoe_metric
),

final as (
    select
        scores.study_id,
        scores.run_id,
        scores.qoe_metric,
        scores.qoe_score,
        scores.scores,
        scores.join_basis,
        qoe_metrics.qoe_better,
        app_harms.harm_ratio,
        case
            when app_harms.run_id is null then 'no competing flow'
            else app_harms.harm_null_reason
        end as harm_null_reason
    from scores
    left join qoe_metrics
        on scores.qoe_metric = qoe_metrics.qoe_metric
    left join app_harms
        on
            scores.study_id = app_harms.study_id
            and scores.run_id = app_harms.run_id
)

select * from final
