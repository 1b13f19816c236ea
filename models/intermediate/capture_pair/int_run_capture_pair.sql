with

pairs as (
    select * from {{ ref('stg_lake__capture_pair') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

given_shapers as (
    select * from {{ ref('stg_lake__run_shaper') }}
),

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement in ('capture_before', 'capture_after')
),

shapers as (
    select
        given_shapers.study_id,
        given_shapers.run_id,
        given_shapers.shaper_burst_bytes
    from given_shapers
    inner join descriptions
        on
            given_shapers.study_id = descriptions.study_id
            and given_shapers.run_id = descriptions.run_id
            and given_shapers.source_hash = descriptions.source_hash
),

before as (
    select
        study_id,
        run_id,
        measurement_hash
    from captures
    where measurement = 'capture_before'
),

after as (
    select
        study_id,
        run_id,
        measurement_hash
    from captures
    where measurement = 'capture_after'
),

-- A pair stays in the lake as long as its captures do. If there are several, use the one that the run's description names.
final as (
    select
        pairs.study_id,
        pairs.run_id,
        pairs.source_hash,
        pairs.before_packets,
        pairs.after_packets,
        pairs.sent_packets,
        pairs.delivered_packets,
        pairs.dropped_packets,
        pairs.in_flight_at_end_packets,
        pairs.not_seen_before_packets,
        pairs.reverse_matched_packets,
        pairs.queuing_delay_min_us,
        pairs.queuing_delay_avg_us,
        pairs.queuing_delay_max_us,
        pairs.delay_floor_ns,
        pairs.delay_floor_low_by_at_most_ns,
        pairs.shaper_burst_bytes,
        pairs.clock_offset_ns,
        pairs.clock_drift_ppm,
        pairs.clock_residual_ns
    from pairs
    inner join runs
        on
            pairs.study_id = runs.study_id
            and pairs.run_id = runs.run_id
            and pairs.bandwidth_bps = runs.bandwidth_bps
    inner join before
        on
            pairs.study_id = before.study_id
            and pairs.run_id = before.run_id
            and pairs.before_hash = before.measurement_hash
    inner join after
        on
            pairs.study_id = after.study_id
            and pairs.run_id = after.run_id
            and pairs.after_hash = after.measurement_hash
    left join shapers
        on
            pairs.study_id = shapers.study_id
            and pairs.run_id = shapers.run_id
    where coalesce(pairs.shaper_burst_bytes, -1) = coalesce(shapers.shaper_burst_bytes, -1)
)

select * from final
