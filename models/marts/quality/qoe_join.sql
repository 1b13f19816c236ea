with

given_scores as (
    select * from {{ ref('int_qoe_score') }}
),

metrics as (
    select * from {{ ref('qoe_metric') }}
),

joined_scores as (
    select * from {{ ref('int_qoe_score_of_run') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
    where
        role = 'app'
        and competes
),

counted_scores as (
    select
        given_scores.study_id,
        given_scores.qoe_metric,
        count(*) as scores,
        cast(sum(given_scores.copies - 1) as bigint) as duplicate_scores,
        count(
            case
                when given_scores.qoe_score < metrics.lowest_score or given_scores.qoe_score > metrics.highest_score
                    then given_scores.score_id
            end
        ) as off_scale_scores
    from given_scores
    left join metrics
        on given_scores.qoe_metric = metrics.qoe_metric
    group by given_scores.study_id, given_scores.qoe_metric
),

counted_joins as (
    select
        study_id,
        qoe_metric,
        count(distinct score_id) as joined_scores,
        count(distinct case when join_basis = 'run_id' then score_id end) as joined_by_run_scores,
        count(distinct case when join_basis = 'file_of_run' then score_id end) as joined_by_file_scores,
        count(distinct case when join_basis = 'session_id' then score_id end) as joined_by_session_scores,
        count(distinct case when join_basis = 'time_overlap' then score_id end) as joined_by_time_scores
    from joined_scores
    group by study_id, qoe_metric
),

scored_runs as (
    select distinct
        study_id,
        qoe_metric,
        run_id
    from joined_scores
),

study_runs as (
    select
        study_id,
        count(*) as competing_runs
    from run_roles
    group by study_id
),

scored_competing_runs as (
    select
        scored_runs.study_id,
        scored_runs.qoe_metric,
        count(*) as scored_competing_runs
    from scored_runs
    inner join run_roles
        on
            scored_runs.study_id = run_roles.study_id
            and scored_runs.run_id = run_roles.run_id
    group by scored_runs.study_id, scored_runs.qoe_metric
),

final as (
    select
        counted_scores.study_id,
        counted_scores.qoe_metric,
        counted_scores.scores,
        counted_scores.duplicate_scores,
        counted_scores.off_scale_scores,
        coalesce(counted_joins.joined_by_run_scores, 0) as joined_by_run_scores,
        coalesce(counted_joins.joined_by_file_scores, 0) as joined_by_file_scores,
        coalesce(counted_joins.joined_by_session_scores, 0) as joined_by_session_scores,
        coalesce(counted_joins.joined_by_time_scores, 0) as joined_by_time_scores,
        counted_scores.scores - coalesce(counted_joins.joined_scores, 0) as scores_without_run,
        coalesce(study_runs.competing_runs, 0) as competing_runs,
        coalesce(study_runs.competing_runs, 0)
        - coalesce(scored_competing_runs.scored_competing_runs, 0) as competing_runs_without_score
    from counted_scores
    left join counted_joins
        on
            counted_scores.study_id = counted_joins.study_id
            and counted_scores.qoe_metric = counted_joins.qoe_metric
    left join study_runs
        on counted_scores.study_id = study_runs.study_id
    left join scored_competing_runs
        on
            counted_scores.study_id = scored_competing_runs.study_id
            and counted_scores.qoe_metric = scored_competing_runs.qoe_metric
)

select * from final
