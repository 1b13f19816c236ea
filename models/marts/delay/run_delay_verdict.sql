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
        -- Half the round-trip time without queuing stands for the way through the empty path.
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
        {{ run_dimensions('runs') }},
        delays.delay_basis,
        delays.packets,
        delays.lost_events,
        delays.mean_ms,
        maximum_delays.maximum_delay_ms,
        maximum_delays.maximum_delay_basis,
        maximum_delays.maximum_delay_null_reason,
        delays.mean_ms / maximum_delays.maximum_delay_ms as mean_share_of_maximum_ratio,
        delays.median_ms / maximum_delays.maximum_delay_ms as median_share_of_maximum_ratio,
        delays.p95_ms / maximum_delays.maximum_delay_ms as p95_share_of_maximum_ratio,
        delays.p99_ms / maximum_delays.maximum_delay_ms as p99_share_of_maximum_ratio,
        one_way.one_way_delay_ms,
        delay_classes.delay_class,
        delay_classes.mapping_id as delay_class_mapping_id,
        delay_classes.mapping_version as delay_class_mapping_version,
        reconciliations.reconciliation_verdict
    from delays
    inner join runs
        on
            delays.study_id = runs.study_id
            and delays.run_id = runs.run_id
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
    left join reconciliations
        on
            delays.study_id = reconciliations.study_id
            and delays.run_id = reconciliations.run_id
)

select * from final
