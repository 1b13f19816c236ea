with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
    where competes
),

judged_roles as (
    select * from {{ ref('int_run_role_demand_rule') }}
),

solo_runs as (
    select * from {{ ref('int_demand_solo_run') }}
),

harm_metrics as (
    select * from {{ ref('harm_metric') }}
),

throughput_harms as (
    select * from {{ ref('int_run_throughput_harm') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
),

streams as (
    select * from {{ ref('run_rtp') }}
),

drops as (
    select * from {{ ref('run_packet_drop') }}
),

{{ run_jitters('streams') }},

-- Measurements of each role for the metrics where lower is better. Delay includes the path, because a user experiences it too: 15 ms of
-- queuing delay where there was none harms less than 400 ms. If the round-trip time of the path is unknown, so is its one-way delay; it
-- is not 0.
quantities as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        'delay' as harm_metric,
        delays.delay_basis as basis,
        runs.rtt_ms / 2 + delays.mean_ms as quantity
    from delays
    inner join runs
        on
            delays.study_id = runs.study_id
            and delays.run_id = runs.run_id
    where
        delays.role != 'all'
        and delays.mean_ms is not null
        and runs.rtt_ms is not null

    union all

    select
        study_id,
        run_id,
        role,
        'jitter' as harm_metric,
        'rtp' as basis,
        jitter_ms as quantity
    from run_jitters

    union all

    select
        study_id,
        run_id,
        role,
        'loss' as harm_metric,
        drop_basis as basis,
        drop_ratio as quantity
    from drops
    where
        role != 'all'
        and drop_ratio is not null
),

solo_quantities as (
    select
        solo_runs.demand_id,
        quantities.harm_metric,
        quantities.basis,
        solo_runs.is_excluded,
        case when not solo_runs.is_excluded then quantities.quantity end as quantity
    from solo_runs
    inner join quantities
        on
            solo_runs.study_id = quantities.study_id
            and solo_runs.run_id = quantities.run_id
            and solo_runs.role = quantities.role
),

demands as (
    select
        demand_id,
        harm_metric,
        basis,
        count(quantity) as demand_runs,
        count(case when is_excluded then 1 end) as demand_excluded_runs,
        {{ percentile('quantity', 50) }} as demand,
        {{ percentile('quantity', 25) }} as demand_q1,
        {{ percentile('quantity', 75) }} as demand_q3
    from solo_quantities
    group by demand_id, harm_metric, basis
),

subjects as (
    select
        run_roles.study_id,
        run_roles.run_id,
        run_roles.role,
        judged_roles.demand_id,
        judged_roles.selects,
        judged_roles.reason,
        harm_metrics.harm_metric
    from run_roles
    cross join harm_metrics
    left join judged_roles
        on
            run_roles.study_id = judged_roles.study_id
            and run_roles.run_id = judged_roles.run_id
            and run_roles.role = judged_roles.role
    where harm_metrics.better = 'lower'
),

judged as (
    select
        subjects.study_id,
        subjects.run_id,
        subjects.role,
        subjects.harm_metric,
        subjects.demand_id,
        quantities.basis,
        quantities.quantity as performance,
        demands.demand,
        demands.demand_q1,
        demands.demand_q3,
        coalesce(demands.demand_runs, 0) as demand_runs,
        coalesce(demands.demand_excluded_runs, 0) as demand_excluded_runs,
        case
            when subjects.demand_id is null then 'no demand rule'
            when not subjects.selects then coalesce(subjects.reason, 'the study selects no solo run')
            when
                quantities.quantity is null and subjects.harm_metric = 'delay' and runs.rtt_ms is null
                then 'no round-trip time without queuing'
            when quantities.quantity is null then 'not measured'
            when demands.demand is null then 'no selected solo run with this measurement'
            when quantities.quantity = 0 and demands.demand > 0 then 'performance is 0'
        end as harm_null_reason
    from subjects
    inner join runs
        on
            subjects.study_id = runs.study_id
            and subjects.run_id = runs.run_id
    left join quantities
        on
            subjects.study_id = quantities.study_id
            and subjects.run_id = quantities.run_id
            and subjects.role = quantities.role
            and subjects.harm_metric = quantities.harm_metric
    left join demands
        on
            subjects.demand_id = demands.demand_id
            and subjects.harm_metric = demands.harm_metric
            and quantities.basis = demands.basis
),

all_metrics as (
    select
        study_id,
        run_id,
        role,
        'throughput' as harm_metric,
        demand_id,
        performance_basis as basis,
        demand_bps as demand,
        demand_q1_bps as demand_q1,
        demand_q3_bps as demand_q3,
        demand_runs,
        demand_excluded_runs,
        performance_bps as performance,
        harm_ratio,
        harm_null_reason
    from throughput_harms

    union all

    select
        study_id,
        run_id,
        role,
        harm_metric,
        demand_id,
        basis,
        demand,
        demand_q1,
        demand_q3,
        demand_runs,
        demand_excluded_runs,
        performance,
        case
            when harm_null_reason is not null then null
            when performance = 0 then 0
            else (performance - demand) / performance
        end as harm_ratio,
        harm_null_reason
    from judged
),

final as (
    select
        all_metrics.study_id,
        all_metrics.run_id,
        all_metrics.role,
        all_metrics.harm_metric,
        harm_metrics.harm_metric_version,
        all_metrics.demand_id,
        harm_metrics.metric_unit,
        all_metrics.basis,
        all_metrics.demand,
        all_metrics.demand_q1,
        all_metrics.demand_q3,
        all_metrics.demand_runs,
        all_metrics.demand_excluded_runs,
        all_metrics.performance,
        all_metrics.harm_ratio,
        all_metrics.harm_null_reason
    from all_metrics
    inner join harm_metrics
        on all_metrics.harm_metric = harm_metrics.harm_metric
    inner join runs
        on
            all_metrics.study_id = runs.study_id
            and all_metrics.run_id = runs.run_id
)

select * from final
