with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
),

maximum_delays as (
    select * from {{ ref('int_run_maximum_delay') }}
),

delay_classes as (
    select * from {{ ref('delay_class') }}
),

one_way as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        -- The one-way delay of the empty path is half the round-trip time without queuing.
        runs.rtt_ms / 2 + delays.mean_ms as one_way_delay_ms
    from delays
    inner join runs
        on
            delays.study_id = runs.study_id
            and delays.run_id = runs.run_id
),

final as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        delays.delay_basis,
        delays.packets,
        delays.lost_events,
        delays.mean_ms,
        maximum_delays.maximum_delay_ms,
        maximum_delays.maximum_delay_basis,
        maximum_delays.maximum_delay_null_reason,
        delays.delay_share_of_maximum_ratio as mean_share_of_maximum_ratio,
        {%- for quantile in ['median', 'p95', 'p99'] %}
        -- If the link rate changes, a quantile of the delays is not a quantile of their shares.
            case
                when maximum_delays.link_rate_basis = 'fixed_rate' then delays.{{ quantile }}_ms / maximum_delays.maximum_delay_ms
            end as {{ quantile }}_share_of_maximum_ratio,
        {%- endfor %}
        one_way.one_way_delay_ms,
        queuing_delay_classes.delay_class as queuing_delay_class,
        delay_classes.delay_class,
        delay_classes.mapping_id as delay_class_mapping_id,
        delay_classes.mapping_version as delay_class_mapping_version,
        reconciliations.reconciliation_verdict
    from delays
    inner join maximum_delays
        on
            delays.study_id = maximum_delays.study_id
            and delays.run_id = maximum_delays.run_id
    inner join one_way
        on
            delays.study_id = one_way.study_id
            and delays.run_id = one_way.run_id
            and delays.role = one_way.role
    left join delay_classes
        on
            one_way.one_way_delay_ms > coalesce(delay_classes.above_ms, -1)
            and (one_way.one_way_delay_ms <= delay_classes.at_most_ms or delay_classes.at_most_ms is null)
    left join delay_classes as queuing_delay_classes
        on
            delays.mean_ms > coalesce(queuing_delay_classes.above_ms, -1)
            and (delays.mean_ms <= queuing_delay_classes.at_most_ms or queuing_delay_classes.at_most_ms is null)
    left join reconciliations
        on
            delays.study_id = reconciliations.study_id
            and delays.run_id = reconciliations.run_id
)

select * from final
