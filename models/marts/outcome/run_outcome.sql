-- Delay that load adds to a run, and the scores derived from it.
with

queue_delays as (
    select * from {{ ref('run_queuing_delay') }}
    where
        role = 'app'
        and median_ms is not null
),

tool_delays as (
    select * from {{ ref('run_load_delay') }}
    where loaded_samples > 0
),

runs as (
    select * from {{ ref('int_run_described') }}
),

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

losses as (
    select
        study_id,
        run_id,
        drop_ratio as loss_ratio
    from {{ ref('run_packet_drop') }}
    where role = 'app'
),

bounds as (
    select * from {{ ref('outcome_bound') }}
),

grades as (
    select * from {{ ref('int_quality_class_range') }}
    where qoe_model_id = 'bufferbloat-grade'
),

-- A queue log gives the delay that the queue adds to the round-trip time without queuing; a tool measures both.
loaded as (
    select
        queue_delays.study_id,
        queue_delays.run_id,
        queue_delays.role,
        queue_delays.delay_basis,
        runs.rtt_ms as idle_rtt_ms,
        runs.rtt_ms + queue_delays.median_ms as loaded_rtt_median_ms,
        runs.rtt_ms + queue_delays.p95_ms as loaded_rtt_p95_ms,
        runs.rtt_ms + queue_delays.p99_ms as loaded_rtt_p99_ms,
        queue_delays.median_ms as added_delay_ms
    from queue_delays
    inner join runs
        on
            queue_delays.study_id = runs.study_id
            and queue_delays.run_id = runs.run_id

    union all

    select
        study_id,
        run_id,
        role,
        delay_basis,
        idle_median_ms as idle_rtt_ms,
        loaded_median_ms as loaded_rtt_median_ms,
        loaded_p95_ms as loaded_rtt_p95_ms,
        loaded_p99_ms as loaded_rtt_p99_ms,
        median_increase_ms as added_delay_ms
    from tool_delays
    where delay_basis not like '%one_way%'
),

needed as (
    select
        max(case when quantity = 'latency_p99_ms' then perfect end) as latency_perfect,
        max(case when quantity = 'latency_p99_ms' then useless end) as latency_useless,
        max(case when quantity = 'loss_ratio' then perfect end) as loss_perfect,
        max(case when quantity = 'loss_ratio' then useless end) as loss_useless
    from bounds
    where qoe_model_id = 'qoo-video-call'
),

judged as (
    select
        loaded.*,
        losses.loss_ratio,
        {{ qoo_score('loaded.loaded_rtt_p99_ms', 'needed.latency_perfect', 'needed.latency_useless') }} as latency_score,
        {{ qoo_score('losses.loss_ratio', 'needed.loss_perfect', 'needed.loss_useless') }} as loss_score
    from loaded
    cross join needed
    left join losses
        on
            loaded.study_id = losses.study_id
            and loaded.run_id = losses.run_id
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.role,
        judged.delay_basis,
        configurations.configuration_id,
        judged.idle_rtt_ms,
        judged.loaded_rtt_median_ms,
        judged.loaded_rtt_p95_ms,
        judged.loaded_rtt_p99_ms,
        judged.added_delay_ms,
        grades.quality_class as bufferbloat_grade,
        {{ round_trips_per_minute('judged.loaded_rtt_median_ms') }} as responsiveness_rpm,
        judged.loss_ratio,
        case
            when judged.latency_score is not null and judged.loss_score is not null then least(judged.latency_score, judged.loss_score)
        end as qoo_score,
        case
            when judged.latency_score is null or judged.loss_score is null then null
            when judged.latency_score <= judged.loss_score then 'latency_p99_ms'
            else 'loss_ratio'
        end as qoo_binding_quantity,
        case
            when judged.latency_score is null then 'no 99th percentile of the loaded RTT'
            when judged.loss_score is null then 'no loss of the application at the bottleneck'
        end as qoo_null_reason
    from judged
    inner join configurations
        on
            judged.study_id = configurations.study_id
            and judged.run_id = configurations.run_id
    left join grades
        on
            {{ is_in_range('judged.added_delay_ms', 'grades') }}
)

select * from final
