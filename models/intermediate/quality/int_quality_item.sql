-- Quality of a run's items (streams, clips, page loads), by each model that applies to them.
with

voice as (
    select * from {{ ref('int_voice_score') }}
    where interval_number = -1
),

given_scores as (
    select * from {{ ref('int_qoe_item') }}
),

page_loads as (
    select * from {{ ref('int_page_load') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

streams as (
    select
        study_id,
        run_id,
        'rtp/' || {{ plain_text('ssrc') }} as item,
        qoe_model_id,
        packet_basis as score_basis,
        transmission_rating as score,
        mos,
        quality_class,
        score_null_reason
    from voice
),

clips as (
    select
        given_scores.study_id,
        given_scores.run_id,
        given_scores.item,
        class_ranges.qoe_model_id,
        'scores' as score_basis,
        given_scores.qoe_score as score,
        class_ranges.mos,
        class_ranges.quality_class,
        cast(null as string) as score_null_reason
    from given_scores
    inner join class_ranges
        on
            class_ranges.qoe_model_id
            = case given_scores.qoe_metric when 'ssim' then 'ssim-to-mos' when 'psnr_db' then 'psnr-to-mos' end
            and {{ is_in_range('given_scores.qoe_score', 'class_ranges') }}
),

loads as (
    select
        page_loads.study_id,
        page_loads.run_id,
        page_loads.item,
        page_loads.load_basis,
        page_loads.page_load_time_ms,
        runs.start_order = 'solo' as is_solo,
        runs.application,
        runs.bandwidth_bps,
        runs.rtt_ms,
        runs.direction
    from page_loads
    inner join runs
        on
            page_loads.study_id = runs.study_id
            and page_loads.run_id = runs.run_id
),

-- Minimum load time of the same page over the same link in a solo run, whatever the queue.
own_least as (
    select
        study_id,
        load_basis,
        application,
        bandwidth_bps,
        rtt_ms,
        direction,
        min(page_load_time_ms) as least_ms
    from loads
    where is_solo
    group by
        study_id,
        load_basis,
        application,
        bandwidth_bps,
        rtt_ms,
        direction
),

-- Estimated times have a separate model, so no median mixes them with measured ones.
web_models as (
    select
        qoe_model_id,
        case when max(case when parameter = 'quiet' then 1 else 0 end) = 1 then 'estimated_from_flows' else 'measured' end as load_basis,
        max(case when parameter = 'least' then parameter_value end) as least_ms,
        max(case when parameter = 'worst' then parameter_value end) as worst_ms
    from parameters
    group by qoe_model_id
    having max(case when parameter = 'worst' then 1 else 0 end) = 1
),

bounded_loads as (
    select
        loads.study_id,
        loads.run_id,
        loads.item,
        loads.load_basis,
        loads.page_load_time_ms,
        web_models.qoe_model_id,
        coalesce(web_models.least_ms, own_least.least_ms) as least_ms,
        web_models.worst_ms
    from loads
    inner join web_models on loads.load_basis = web_models.load_basis
    left join own_least
        on
            loads.study_id = own_least.study_id
            and loads.load_basis = own_least.load_basis
            and coalesce(loads.application, '') = coalesce(own_least.application, '')
            and coalesce(loads.bandwidth_bps, -1) = coalesce(own_least.bandwidth_bps, -1)
            and loads.rtt_ms = own_least.rtt_ms
            and coalesce(loads.direction, '') = coalesce(own_least.direction, '')
),

judged_loads as (
    select
        *,
        case
            when least_ms < worst_ms then {{ mos_of_page_load_time('page_load_time_ms', 'least_ms', 'worst_ms') }}
        end as mos,
        case
            when least_ms is null then 'no load of the page without competing traffic'
            when least_ms >= worst_ms then 'the page takes 6 s and more without competing traffic'
        end as score_null_reason
    from bounded_loads
),

pages as (
    select
        judged_loads.study_id,
        judged_loads.run_id,
        judged_loads.item,
        judged_loads.qoe_model_id,
        case judged_loads.load_basis when 'measured' then 'scores' else judged_loads.load_basis end as score_basis,
        judged_loads.page_load_time_ms as score,
        judged_loads.mos,
        class_ranges.quality_class,
        judged_loads.score_null_reason
    from judged_loads
    left join class_ranges
        on
            judged_loads.qoe_model_id = class_ranges.qoe_model_id
            and {{ is_in_range('judged_loads.mos', 'class_ranges') }}
),

final as (
    {{ united_items(['streams', 'clips', 'pages']) }}
)

select * from final
