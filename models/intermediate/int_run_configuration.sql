-- Runs that differ in nothing but their repetition are of one configuration.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

final as (
    select
        study_id,
        run_id,
        study_id
        || '/' || coalesce(application, 'tcp')
        || '/workload=' || workload
        || '/direction=' || coalesce(direction, 'none')
        || '/bandwidth_bps=' || coalesce({{ plain_text('bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || {{ plain_text('rtt_ms') }}
        || '/aqm=' || aqm
        || '/queue_size_bdp=' || coalesce({{ plain_text('queue_size_bdp') }}, 'none')
        || '/queue_size_bytes=' || coalesce({{ plain_text('queue_size_bytes') }}, 'none')
        || '/congestion_control=' || coalesce(congestion_control, 'none')
        || '/start_order=' || start_order as configuration_id,
        workload,
        direction,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_size_bdp,
        queue_size_bytes,
        queue_label,
        congestion_control,
        application,
        start_order,
        synthetic
    from runs
)

select * from final
