{{ config(
    severity='warn',
    meta={
        'warning': 'runs whose window starts or ends within an interval of rates',
        'advice': 'that interval counts by its start; use windows of whole intervals'
    }
) }}

-- Rates are sums of whole intervals. A window that cuts an interval counts it by the interval's start.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where has_capture_after
),

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where measurement = 'capture_after'
),

flow_intervals as (
    select * from {{ ref('stg_lake__flow_interval') }}
),

interval_lengths as (
    select
        source_hash,
        cast(max(interval_ms) as bigint) * 1000000 as interval_ns
    from flow_intervals
    group by source_hash
),

final as (
    select
        runs.study_id,
        runs.run_id,
        runs.window_start_ns,
        runs.window_end_ns,
        interval_lengths.interval_ns
    from runs
    inner join captures
        on
            runs.study_id = captures.study_id
            and runs.run_id = captures.run_id
    inner join interval_lengths
        on captures.measurement_hash = interval_lengths.source_hash
    where
        runs.window_start_ns % interval_lengths.interval_ns != 0
        or runs.window_end_ns % interval_lengths.interval_ns != 0
)

select * from final
