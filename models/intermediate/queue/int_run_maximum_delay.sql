{%- set longest_delay_ms = 3600000 %}
with

runs as (
    select * from {{ ref('int_run_described') }}
),

window_rates as (
    select * from {{ ref('int_run_window_rate') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

limited as (
    select
        runs.study_id,
        runs.run_id,
        window_rates.link_rate_basis,
        window_rates.lowest_rate_bps,
        coalesce(
            cast(runs.queue_limit_bytes as double),
            cast(runs.queue_limit_packets as double) * thresholds.threshold_value
        ) as limit_bytes,
        case
            when runs.queue_limit_bytes is not null then 'byte_limit'
            when runs.queue_limit_packets is not null then 'full_size_packets'
        end as limit_basis
    from runs
    inner join window_rates
        on
            runs.study_id = window_rates.study_id
            and runs.run_id = window_rates.run_id
    cross join thresholds
),

drained as (
    select
        *,
        limit_bytes * 8000 / lowest_rate_bps as drain_ms
    from limited
),

final as (
    select
        study_id,
        run_id,
        limit_bytes,
        link_rate_basis,
        case when drain_ms <= {{ longest_delay_ms }} then drain_ms end as maximum_delay_ms,
        case when drain_ms <= {{ longest_delay_ms }} then limit_basis end as maximum_delay_basis,
        case
            when limit_bytes is null then 'the size of the queue is not stated'
            when lowest_rate_bps is null and link_rate_basis = 'fixed_rate' then 'the rate of the bottleneck is not stated'
            when lowest_rate_bps is null then 'the rates of the programme are not known for the whole window'
            when drain_ms > {{ longest_delay_ms }} then 'the stated queue takes more than an hour to drain'
        end as maximum_delay_null_reason
    from drained
)

select * from final
