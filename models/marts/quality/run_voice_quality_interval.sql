with

scores as (
    select * from {{ ref('int_voice_score') }}
    where interval_number > -1
),

runs as (
    select * from {{ ref('int_run_described') }}
),

models as (
    select * from {{ ref('qoe_model') }}
),

interval_lengths as (
    select
        qoe_model_id,
        parameter_value as interval_ms
    from {{ ref('qoe_model_parameter') }}
    where parameter = 'interval'
),

final as (
    select
        scores.study_id,
        scores.run_id,
        scores.ssrc,
        scores.qoe_model_id,
        scores.interval_number,
        cast(scores.interval_number * interval_lengths.interval_ms as double) as interval_offset_ms,
        -- The window may end within its last interval.
        least(interval_lengths.interval_ms, runs.window_ms - scores.interval_number * interval_lengths.interval_ms) as interval_length_ms,
        models.qoe_model_version,
        {{ voice_score_columns('scores') }}
    from scores
    inner join runs
        on
            scores.study_id = runs.study_id
            and scores.run_id = runs.run_id
    inner join models
        on scores.qoe_model_id = models.qoe_model_id
    inner join interval_lengths
        on scores.qoe_model_id = interval_lengths.qoe_model_id
)

select * from final
