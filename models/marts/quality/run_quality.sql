with

given_items as (
    select * from {{ ref('int_quality_item') }}
),

speech_samples as (
    select * from {{ ref('run_speech_quality') }}
),

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

models as (
    select * from {{ ref('qoe_model') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
    where role = 'app'
),

harms as (
    select * from {{ ref('run_harm') }}
    where
        role = 'app'
        and harm_metric = 'throughput'
),

equalities as (
    select * from {{ ref('run_flow_rate_equality') }}
),

-- The speech score is z of IMC'14, on the scale of R.
speech_items as (
    select
        study_id,
        run_id,
        item,
        qoe_model_id,
        'scores' as score_basis,
        transmission_rating as score,
        mos,
        quality_class,
        score_null_reason
    from speech_samples
),

items as (
    {{ united_items(['given_items', 'speech_items']) }}
),

final as (
    select
        items.study_id,
        items.run_id,
        items.item,
        items.qoe_model_id,
        configurations.configuration_id,
        models.qoe_model_version,
        items.score_basis,
        items.score,
        items.mos,
        items.quality_class,
        items.score_null_reason,
        delays.mean_ms as queuing_delay_mean_ms,
        harms.harm_ratio,
        case when harms.run_id is null then 'no competing flow' else harms.harm_null_reason end as harm_null_reason,
        equalities.flow_rate_equality
    from items
    inner join configurations
        on
            items.study_id = configurations.study_id
            and items.run_id = configurations.run_id
    inner join models
        on items.qoe_model_id = models.qoe_model_id
    left join delays
        on
            items.study_id = delays.study_id
            and items.run_id = delays.run_id
    left join harms
        on
            items.study_id = harms.study_id
            and items.run_id = harms.run_id
    left join equalities
        on
            items.study_id = equalities.study_id
            and items.run_id = equalities.run_id
)

select * from final
