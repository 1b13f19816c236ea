with

runs as (
    select * from {{ ref('int_run_described') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

limited as (
    select
        runs.study_id,
        runs.run_id,
        runs.bandwidth_bps,
        coalesce(runs.queue_limit_bytes, runs.queue_limit_packets * thresholds.threshold_value) as limit_bytes,
        case
            when runs.queue_limit_bytes is not null then 'byte_limit'
            when runs.queue_limit_packets is not null then 'full_size_packets'
        end as limit_basis
    from runs
    cross join thresholds
),

final as (
    select
        study_id,
        run_id,
        cast(limit_bytes as double) * 8000 / bandwidth_bps as maximum_delay_ms,
        case when bandwidth_bps is not null then limit_basis end as maximum_delay_basis,
        case
            when limit_bytes is null then 'the size of the queue is not stated'
            when bandwidth_bps is null then 'the rate changes within the run'
        end as maximum_delay_null_reason
    from limited
)

select * from final
