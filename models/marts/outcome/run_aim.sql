-- Points in Cloudflare's AIM: for each run with a delay under load, and from the figures that a speed test itself reports.
with

outcomes as (
    select * from {{ ref('run_outcome') }}
),

throughputs as (
    select * from {{ ref('run_throughput') }}
),

rtp_streams as (
    select * from {{ ref('run_rtp') }}
    where role = 'app'
),

stated_values as (
    select * from {{ ref('int_run_series_value') }}
    where
        measurement = 'speed_test'
        and series_name in (
            'latency', 'downLoadedLatency', 'upLoadedLatency', 'jitter', 'packetLoss', 'download'
        )
),

points as (
    select
        quantity,
        lower_bound,
        points,
        lead(lower_bound) over (
            partition by quantity
            order by case when lower_bound is null then 0 else 1 end, lower_bound
        ) as upper_bound
    from {{ ref('aim_point') }}
),

inputs as (
    select * from {{ ref('aim_input') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
),

jitters as (
    select
        study_id,
        run_id,
        max(jitter_ms) as jitter_ms
    from rtp_streams
    group by study_id, run_id
),

-- Only a file with a single result counts: with several servers, a series has several values and none is chosen.
stated as (
    select
        study_id,
        run_id,
        max(case when series_name = 'latency' then value end) as latency_ms,
        max(case when series_name in ('downLoadedLatency', 'upLoadedLatency') then value end)
        - max(case when series_name = 'latency' then value end) as added_delay_ms,
        max(case when series_name = 'jitter' then value end) as jitter_ms,
        max(case when series_name = 'packetLoss' then value end) as loss_ratio,
        max(case when series_name = 'download' then value end) as download_bps
    from stated_values
    group by study_id, run_id
    having
        count(case when series_name = 'latency' then 1 end) = 1
        and count(case when series_name in ('downLoadedLatency', 'upLoadedLatency') then 1 end) > 0
),

measured as (
    select
        outcomes.study_id,
        outcomes.run_id,
        outcomes.role,
        outcomes.delay_basis,
        outcomes.idle_rtt_ms as latency_ms,
        outcomes.added_delay_ms,
        jitters.jitter_ms,
        outcomes.loss_ratio,
        throughputs.download_bps
    from outcomes
    left join jitters
        on
            outcomes.study_id = jitters.study_id
            and outcomes.run_id = jitters.run_id
    left join throughputs
        on
            outcomes.study_id = throughputs.study_id
            and outcomes.run_id = throughputs.run_id

    union all

    select
        study_id,
        run_id,
        'probe' as role,
        'speed_test_stated' as delay_basis,
        latency_ms,
        added_delay_ms,
        jitter_ms,
        loss_ratio,
        download_bps
    from stated
),

given as (
    select
        measured.study_id,
        measured.run_id,
        measured.role,
        measured.delay_basis,
        inputs.qoe_model_id,
        inputs.quantity,
        case inputs.quantity
            when 'latency_ms' then measured.latency_ms
            when 'added_delay_ms' then measured.added_delay_ms
            when 'jitter_ms' then measured.jitter_ms
            when 'loss_ratio' then measured.loss_ratio
            when 'download_bps' then cast(measured.download_bps as double)
        end as quantity_value
    from measured
    cross join inputs
),

pointed as (
    select
        given.*,
        points.points
    from given
    left join points
        on
            given.quantity = points.quantity
            and {{ is_in_range('given.quantity_value', 'points') }}
),

summed as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        qoe_model_id,
        count(*) as inputs_needed,
        count(points) as inputs_known,
        min(case when points is null then quantity end) as missing_quantity,
        -- A sum below 0 becomes 0, as in Cloudflare's engine.
        greatest(sum(points), 0) as points,
        min(points) as fewest_points
    from pointed
    group by study_id, run_id, role, delay_basis, qoe_model_id
),

binding as (
    select
        pointed.study_id,
        pointed.run_id,
        pointed.role,
        pointed.delay_basis,
        pointed.qoe_model_id,
        min(pointed.quantity) as binding_quantity
    from pointed
    inner join summed
        on
            pointed.study_id = summed.study_id
            and pointed.run_id = summed.run_id
            and pointed.role = summed.role
            and pointed.delay_basis = summed.delay_basis
            and pointed.qoe_model_id = summed.qoe_model_id
            and pointed.points = summed.fewest_points
    group by pointed.study_id, pointed.run_id, pointed.role, pointed.delay_basis, pointed.qoe_model_id
),

judged as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        qoe_model_id,
        case when inputs_known = inputs_needed then cast(points as bigint) end as aim_points,
        case when inputs_known < inputs_needed then 'no ' || missing_quantity end as score_null_reason
    from summed
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.role,
        judged.delay_basis,
        judged.qoe_model_id,
        judged.aim_points,
        class_ranges.quality_class,
        case when judged.aim_points is not null then binding.binding_quantity end as binding_quantity,
        judged.score_null_reason
    from judged
    left join binding
        on
            judged.study_id = binding.study_id
            and judged.run_id = binding.run_id
            and judged.role = binding.role
            and judged.delay_basis = binding.delay_basis
            and judged.qoe_model_id = binding.qoe_model_id
    left join class_ranges
        on
            judged.qoe_model_id = class_ranges.qoe_model_id
            and {{ is_in_range('judged.aim_points', 'class_ranges') }}
)

select * from final
