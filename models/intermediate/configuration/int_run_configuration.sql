-- Runs that differ only in their repetition are of one configuration.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

named as (
    select
        *,
        study_id
        || '/' || coalesce(application, 'tcp')
        || case when rival_application is null then '' else '/rival_application=' || rival_application end
        || '/workload=' || workload
        || '/direction=' || coalesce(direction, 'none')
        || '/bandwidth_bps=' || coalesce({{ plain_text('bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || coalesce({{ plain_text('rtt_ms') }}, 'none')
        || '/aqm=' || aqm
        || '/queue_size_bdp=' || coalesce({{ plain_text('queue_size_bdp') }}, 'none')
        || '/queue_size_bytes=' || coalesce({{ plain_text('queue_size_bytes') }}, 'none')
        || case when queue_limit_packets is null then '' else '/queue_limit_packets=' || {{ plain_text('queue_limit_packets') }} end
        || '/congestion_control=' || coalesce(congestion_control, 'none')
        || '/start_order=' || start_order
        || case when aqm_parameters is null then '' else '/aqm_parameters=' || aqm_parameters end
        || case when bandwidth_programme is null then '' else '/bandwidth_programme=' || bandwidth_programme end
        || case when testbed is null then '' else '/testbed=' || testbed end
        || case when queue_scheme is null then '' else '/queue_scheme=' || queue_scheme end
        || case when congested_direction is null then '' else '/congested_direction=' || congested_direction end
        || case when opposite_link is null then '' else '/opposite_link=' || opposite_link end
        || case when participants is null then '' else '/participants=' || {{ plain_text('participants') }} end
        || case when call_view is null then '' else '/call_view=' || call_view end
        || case when ecn is null then '' else '/ecn=' || ecn end
        || case when l4s is null then '' else '/l4s=' || l4s end as configuration_id
    from runs
),

final as (
    select
        study_id,
        run_id,
        configuration_id,
        cast(
            row_number()
                over (
                    partition by configuration_id
                    order by
                        case when start_ns is null then 1 else 0 end,
                        start_ns,
                        run_id
                )
            as bigint
        ) as run_number,
        workload,
        direction,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bdp,
        queue_size_bytes,
        queue_limit_packets,
        queue_label,
        congestion_control,
        application,
        rival_application,
        start_order,
        testbed,
        queue_scheme,
        congested_direction,
        opposite_link,
        participants,
        call_view,
        ecn,
        l4s,
        synthetic,
        aqm_parameters,
        bandwidth_programme
    from named
)

select * from final
