with

scores as (
    select * from {{ ref('int_voice_score') }}
    where interval_number = -1
),

streams as (
    select * from {{ ref('int_voice_stream') }}
),

models as (
    select * from {{ ref('qoe_model') }}
),

intervals as (
    select * from {{ ref('run_voice_quality_interval') }}
),

interval_lengths as (
    select
        qoe_model_id,
        parameter_value as interval_ms
    from {{ ref('qoe_model_parameter') }}
    where parameter = 'interval'
),

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

-- The remainder of a window is shorter than ten seconds, so it does not count.
whole_intervals as (
    select
        intervals.study_id,
        intervals.run_id,
        intervals.ssrc,
        intervals.qoe_model_id,
        intervals.interval_offset_ms,
        intervals.mos,
        row_number() over (
            partition by intervals.study_id, intervals.run_id, intervals.ssrc, intervals.qoe_model_id
            order by intervals.mos asc, intervals.interval_number asc
        ) as badness_rank,
        count(*) over (
            partition by intervals.study_id, intervals.run_id, intervals.ssrc, intervals.qoe_model_id
        ) as whole_intervals
    from intervals
    inner join interval_lengths
        on intervals.qoe_model_id = interval_lengths.qoe_model_id
    where
        intervals.mos is not null
        and intervals.interval_length_ms = interval_lengths.interval_ms
),

worst_intervals as (
    select * from whole_intervals
    where badness_rank = 1
),

final as (
    select
        scores.study_id,
        scores.run_id,
        scores.ssrc,
        scores.qoe_model_id,
        models.qoe_model_version,
        {{ voice_score_columns('scores') }},
        coalesce(worst_intervals.whole_intervals, 0) as whole_intervals,
        worst_intervals.interval_offset_ms as worst_interval_offset_ms,
        worst_intervals.mos as worst_interval_mos,
        cast(streams.lost_packets as double) / nullif(streams.expected_packets, 0) as rtp_loss_ratio,
        reconciliations.reconciliation_verdict
    from scores
    inner join streams
        on
            scores.study_id = streams.study_id
            and scores.run_id = streams.run_id
            and scores.ssrc = streams.ssrc
    inner join models
        on scores.qoe_model_id = models.qoe_model_id
    left join worst_intervals
        on
            scores.study_id = worst_intervals.study_id
            and scores.run_id = worst_intervals.run_id
            and scores.ssrc = worst_intervals.ssrc
            and scores.qoe_model_id = worst_intervals.qoe_model_id
    left join reconciliations
        on
            scores.study_id = reconciliations.study_id
            and scores.run_id = reconciliations.run_id
)

select * from final
