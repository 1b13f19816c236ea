-- Voice quality from PESQ and delay (IMC'14, section 7.1): each speech sample of a run, for each way to combine the delays of both
-- directions.
with

speech_samples as (
    select * from {{ ref('int_qoe_item') }}
    where qoe_metric = 'pesq'
),

runs as (
    select * from {{ ref('int_run_described') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
    where role = 'app'
),

opposite_delays as (
    select * from {{ ref('int_run_opposite_delay') }}
),

models as (
    select * from {{ ref('qoe_model') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
),

shares as (
    select
        qoe_model_id,
        max(case when parameter = 'rtt_share' then parameter_value end) as rtt_share,
        max(case when parameter = 'own_queue_share' then parameter_value end) as own_queue_share,
        max(case when parameter = 'opposite_queue_share' then parameter_value end) as opposite_queue_share
    from parameters
    group by qoe_model_id
    having max(case when parameter = 'rtt_share' then 1 else 0 end) = 1
),

-- A tool that failed writes -1, which is not a score.
placed as (
    select
        speech_samples.study_id,
        speech_samples.run_id,
        speech_samples.item,
        shares.qoe_model_id,
        speech_samples.qoe_score as pesq_score,
        speech_samples.qoe_score >= -0.5 and speech_samples.qoe_score <= 4.5 as is_on_scale,
        delays.mean_ms as queuing_delay_mean_ms,
        opposite_delays.opposite_queuing_delay_mean_ms,
        opposite_delays.opposite_delay_basis,
        runs.rtt_ms is null or delays.mean_ms is null as is_own_delay_unknown,
        shares.rtt_share * runs.rtt_ms + shares.own_queue_share * delays.mean_ms
        + case
            when shares.opposite_queue_share = 0 then 0
            else shares.opposite_queue_share * opposite_delays.opposite_queuing_delay_mean_ms
        end as one_way_delay_ms
    from speech_samples
    cross join shares
    inner join runs
        on
            speech_samples.study_id = runs.study_id
            and speech_samples.run_id = runs.run_id
    left join delays
        on
            speech_samples.study_id = delays.study_id
            and speech_samples.run_id = delays.run_id
    left join opposite_delays
        on
            speech_samples.study_id = opposite_delays.study_id
            and speech_samples.run_id = opposite_delays.run_id
),

impaired as (
    select
        *,
        case when is_on_scale then {{ rating_of_pesq('pesq_score') }} end as listening_rating,
        case when one_way_delay_ms >= 0 then {{ delay_impairment('one_way_delay_ms') }} end as delay_impairment
    from placed
),

rated as (
    select
        *,
        greatest(cast(0 as double), listening_rating - delay_impairment) as greatest_rating
    from impaired
),

scored as (
    select
        *,
        case when listening_rating is not null and delay_impairment is not null then greatest_rating end as transmission_rating
    from rated
),

judged as (
    select
        *,
        case when transmission_rating is not null then {{ mos_of_rating('transmission_rating') }} end as mos,
        case
            when not is_on_scale then 'PESQ outside of -0.5 to 4.5'
            when is_own_delay_unknown then 'no round-trip time or no queuing delay of the application'
            when one_way_delay_ms is null then 'the queue of the other direction was not measured'
        end as score_null_reason
    from scored
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.item,
        judged.qoe_model_id,
        models.qoe_model_version,
        judged.pesq_score,
        judged.listening_rating,
        judged.queuing_delay_mean_ms,
        judged.opposite_queuing_delay_mean_ms,
        judged.opposite_delay_basis,
        judged.one_way_delay_ms,
        judged.delay_impairment,
        judged.transmission_rating,
        judged.mos,
        class_ranges.quality_class,
        judged.score_null_reason
    from judged
    inner join models
        on judged.qoe_model_id = models.qoe_model_id
    left join class_ranges
        on
            judged.qoe_model_id = class_ranges.qoe_model_id
            and {{ is_in_range('judged.mos', 'class_ranges') }}
)

select * from final
