-- Captures of runs are few enough for exact quantiles. Captures of other data sets all have the same capture point.
with

connections as (
    select * from {{ ref('int_capture_leg') }}
    where not is_loose
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

of_other_datasets as (
    select * from {{ ref('capture_service_delay') }}
    where substr(dataset, 1, 6) != 'study:'
),

thresholds as (
    select * from {{ ref('threshold') }}
    where threshold_id = 'percentile-of-connections'
),

recorded as (
    select
        connections.*,
        recordings.capture_point
    from connections
    inner join recordings on connections.source_hash = recordings.source_hash
),

delays as (
    {{ delays_by_kind('recorded', ['dataset', 'capture_point', 'service'], whole=false) }}
),

in_ms as (
    select
        *,
        cast(delay_us as double) / 1000 as delay_ms
    from delays
),

of_runs as (
    select
        dataset,
        capture_point,
        service,
        leg,
        delay_kind,
        count(*) as connections,
        percentile_disc(0.05) within group (order by delay_ms) as p05_ms,
        percentile_disc(0.25) within group (order by delay_ms) as p25_ms,
        median(delay_ms) as median_ms,
        percentile_disc(0.75) within group (order by delay_ms) as p75_ms,
        percentile_disc(0.95) within group (order by delay_ms) as p95_ms
    from in_ms
    group by dataset, capture_point, service, leg, delay_kind
),

united as (
    select * from of_runs

    union all

    select
        dataset,
        'single' as capture_point,
        service,
        leg,
        delay_kind,
        connections,
        p05_ms,
        p25_ms,
        median_ms,
        p75_ms,
        p95_ms
    from of_other_datasets
),

final as (
    select
        united.dataset,
        united.capture_point,
        united.service,
        united.leg,
        united.delay_kind,
        united.connections,
        case when united.connections >= thresholds.threshold_value then united.p05_ms end as p05_ms,
        united.p25_ms,
        united.median_ms,
        united.p75_ms,
        case when united.connections >= thresholds.threshold_value then united.p95_ms end as p95_ms,
        united.delay_kind = 'queuing_delay' as is_upper_bound
    from united
    cross join thresholds
)

select * from final
