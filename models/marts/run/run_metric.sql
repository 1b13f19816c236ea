with

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

rates as (
    select * from {{ ref('run_rate') }}
),

drops as (
    select * from {{ ref('run_packet_drop') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
),

equalities as (
    select * from {{ ref('run_flow_rate_equality') }}
),

competing_phases as (
    select * from {{ ref('run_phase') }}
    where
        run_phase = 'competing'
        and incumbent_share_ratio is not null
),

harms as (
    select * from {{ ref('run_metric_harm') }}
),

scores as (
    select * from {{ ref('harm_qoe') }}
),

streams as (
    select * from {{ ref('run_rtp') }}
),

quality_items as (
    select * from {{ ref('run_quality') }}
),

streaming as (
    select * from {{ ref('run_streaming') }}
),

{{ run_jitters('streams') }},

-- A run with several scored items gets the median of their scores, as in configuration_quality.
scored_runs as (
    select
        study_id,
        run_id,
        qoe_model_id,
        min(score_basis) as score_basis,
        median(mos) as mos
    from quality_items
    where mos is not null
    group by
        study_id,
        run_id,
        qoe_model_id
),

named as (
    select
        study_id,
        run_id,
        role,
        'rate_bps' as metric,
        rate_basis as basis,
        cast(rate_bps as double) as metric_value
    from rates
    where rate_bps is not null

    union all

    select
        study_id,
        run_id,
        role,
        'utilisation_ratio' as metric,
        rate_basis as basis,
        cast(utilisation_ratio as double) as metric_value
    from rates
    where utilisation_ratio is not null

    union all

    select
        study_id,
        run_id,
        role,
        'received_packets' as metric,
        rate_basis as basis,
        cast(packets as double) as metric_value
    from rates
    where packets is not null

    union all

    select
        study_id,
        run_id,
        role,
        'dropped_packets' as metric,
        drop_basis as basis,
        cast(window_dropped_packets as double) as metric_value
    from drops
    where window_dropped_packets is not null

    union all

    select
        study_id,
        run_id,
        role,
        'drop_ratio' as metric,
        drop_basis as basis,
        cast(drop_ratio as double) as metric_value
    from drops
    where drop_ratio is not null

    union all

    select
        study_id,
        run_id,
        role,
        'queuing_delay_mean_ms' as metric,
        delay_basis as basis,
        cast(mean_ms as double) as metric_value
    from delays
    where mean_ms is not null

    union all

    select
        study_id,
        run_id,
        role,
        'queuing_delay_median_ms' as metric,
        delay_basis as basis,
        cast(median_ms as double) as metric_value
    from delays
    where median_ms is not null

    union all

    select
        study_id,
        run_id,
        role,
        'queuing_delay_p95_ms' as metric,
        delay_basis as basis,
        cast(p95_ms as double) as metric_value
    from delays
    where p95_ms is not null

    union all

    select
        study_id,
        run_id,
        role,
        'queuing_delay_share_of_maximum_ratio' as metric,
        delay_basis as basis,
        cast(delay_share_of_maximum_ratio as double) as metric_value
    from delays
    where delay_share_of_maximum_ratio is not null

    union all

    select
        study_id,
        run_id,
        'all' as role,
        'flow_rate_equality' as metric,
        'none' as basis,
        cast(flow_rate_equality as double) as metric_value
    from equalities
    where flow_rate_equality is not null

    union all

    select
        study_id,
        run_id,
        'all' as role,
        'jain_index' as metric,
        'none' as basis,
        cast(jain_index as double) as metric_value
    from equalities
    where jain_index is not null

    union all

    select
        study_id,
        run_id,
        'app' as role,
        'link_share_ratio' as metric,
        'none' as basis,
        cast(app_link_share_ratio as double) as metric_value
    from equalities
    where app_link_share_ratio is not null

    union all

    select
        study_id,
        run_id,
        'tcp' as role,
        'link_share_ratio' as metric,
        'none' as basis,
        cast(tcp_link_share_ratio as double) as metric_value
    from equalities
    where tcp_link_share_ratio is not null

    union all

    select
        study_id,
        run_id,
        'rival' as role,
        'link_share_ratio' as metric,
        'none' as basis,
        cast(rival_link_share_ratio as double) as metric_value
    from equalities
    where rival_link_share_ratio is not null

    union all

    select
        study_id,
        run_id,
        incumbent_role as role,
        'incumbent_share_ratio' as metric,
        rate_basis as basis,
        cast(incumbent_share_ratio as double) as metric_value
    from competing_phases

    union all

    select
        study_id,
        run_id,
        role,
        'harm_' || harm_metric || '_ratio' as metric,
        basis,
        cast(harm_ratio as double) as metric_value
    from harms
    where harm_ratio is not null

    union all

    select
        study_id,
        run_id,
        'app' as role,
        'qoe_' || qoe_metric as metric,
        'none' as basis,
        cast(qoe_score as double) as metric_value
    from scores
    where qoe_score is not null

    union all

    select
        study_id,
        run_id,
        role,
        'jitter_ms' as metric,
        'rtp' as basis,
        cast(jitter_ms as double) as metric_value
    from run_jitters

    union all

    select
        study_id,
        run_id,
        'app' as role,
        'media_rate_mean_bps' as metric,
        'none' as basis,
        cast(media_rate_mean_bps as double) as metric_value
    from streaming
    where media_rate_mean_bps is not null

    union all

    select
        study_id,
        run_id,
        'app' as role,
        'stalled_ratio' as metric,
        'none' as basis,
        cast(stalled_ratio as double) as metric_value
    from streaming
    where stalled_ratio is not null

    union all

    select
        study_id,
        run_id,
        'app' as role,
        'mos_' || qoe_model_id as metric,
        score_basis as basis,
        cast(mos as double) as metric_value
    from scored_runs
),

final as (
    select
        named.study_id,
        named.run_id,
        named.metric,
        named.role,
        configurations.configuration_id,
        configurations.run_number,
        named.basis,
        named.metric_value
    from named
    inner join configurations
        on
            named.study_id = configurations.study_id
            and named.run_id = configurations.run_id
)

select * from final
