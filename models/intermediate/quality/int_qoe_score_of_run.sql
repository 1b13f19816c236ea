{%- set columns = ['study_id', 'scored', 'score_id', 'qoe_metric', 'item', 'frame_number', 'qoe_score'] -%}
-- A score names its run, or a call or session that runs belong to, or a span of time. In the last case, it belongs to the run that covers
-- most of that span.
with

scores as (
    select * from {{ ref('int_qoe_score') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

run_spans as (
    select
        study_id,
        run_id,
        session_id,
        coalesce(start_ns, window_start_ns) as start_ns,
        window_end_ns as end_ns
    from runs
),

by_run as (
    select
        {%- for column in columns %}
            scores.{{ column }},
        {%- endfor %}
        run_spans.run_id,
        scores.join_basis
    from scores
    inner join run_spans
        on
            scores.study_id = run_spans.study_id
            and scores.run_id = run_spans.run_id
),

session_runs as (
    select
        study_id,
        session_id,
        count(*) as runs
    from run_spans
    group by study_id, session_id
),

session_scores as (
    select
        study_id,
        session_id,
        count(*) as scores
    from scores
    where run_id is null
    group by study_id, session_id
),

-- What names more than ten million pairs of a score and a run is no session of any of them.
named_sessions as (
    select
        session_runs.study_id,
        session_runs.session_id
    from session_runs
    inner join session_scores
        on
            session_runs.study_id = session_scores.study_id
            and session_runs.session_id = session_scores.session_id
    where session_runs.runs * session_scores.scores <= 10000000
),

by_session as (
    select
        {%- for column in columns %}
            scores.{{ column }},
        {%- endfor %}
        run_spans.run_id,
        'session_id' as join_basis
    from scores
    inner join run_spans
        on
            scores.study_id = run_spans.study_id
            and scores.session_id = run_spans.session_id
    inner join named_sessions
        on
            scores.study_id = named_sessions.study_id
            and scores.session_id = named_sessions.session_id
    where scores.run_id is null
),

overlapping as (
    select
        {%- for column in columns %}
            scores.{{ column }},
        {%- endfor %}
        run_spans.run_id,
        row_number() over (
            partition by scores.score_id
            order by
                least(scores.end_ns, run_spans.end_ns) - greatest(scores.start_ns, run_spans.start_ns) desc,
                run_spans.run_id asc
        ) as preference
    from scores
    inner join run_spans
        on
            scores.study_id = run_spans.study_id
            and scores.start_ns < run_spans.end_ns
            and scores.end_ns > run_spans.start_ns
    where
        scores.run_id is null
        and scores.session_id is null
),

by_time as (
    select
        {{ columns | join(',\n        ') }},
        run_id,
        'time_overlap' as join_basis
    from overlapping
    where preference = 1
),

final as (
    select * from by_run
    union all
    select * from by_session
    union all
    select * from by_time
)

select * from final
