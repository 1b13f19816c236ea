-- Page loads of runs, as measured by tools and as estimated from the connections in the run's capture. load_basis keeps them apart.
with

items as (
    select * from {{ ref('int_qoe_item') }}
    where
        qoe_metric = 'page_load_time_ms'
        and qoe_score > 0
),

captured_loads as (
    select * from {{ ref('int_capture_page_load') }}
    where page_load_time_ms > 0
),

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement in ('capture_before', 'capture_after')
),

runs as (
    select * from {{ ref('int_run_described') }}
),

-- Prefer the capture on the client's side of the bottleneck: its times include the full queuing delay.
preferred_captures as (
    select
        captures.study_id,
        captures.run_id,
        captures.measurement_hash,
        row_number() over (
            partition by captures.study_id, captures.run_id
            order by
                case
                    when captures.measurement = case runs.direction when 'uplink' then 'capture_before' else 'capture_after' end then 0
                    else 1
                end,
                captures.measurement_hash
        ) as preference
    from captures
    inner join runs
        on
            captures.study_id = runs.study_id
            and captures.run_id = runs.run_id
),

measured as (
    select
        study_id,
        run_id,
        item,
        'measured' as load_basis,
        qoe_score as page_load_time_ms,
        cast(null as double) as handshake_rtt_ms,
        cast(null as bigint) as connections,
        cast(null as bigint) as answer_bytes
    from items
),

estimated as (
    select
        preferred_captures.study_id,
        preferred_captures.run_id,
        'flows/' || {{ plain_text('captured_loads.load_number') }} as item,
        'estimated_from_flows' as load_basis,
        captured_loads.page_load_time_ms,
        captured_loads.handshake_rtt_ms,
        captured_loads.connections,
        captured_loads.answer_bytes
    from captured_loads
    inner join preferred_captures
        on
            captured_loads.source_hash = preferred_captures.measurement_hash
            and preferred_captures.preference = 1
),

final as (
    select * from measured
    union all
    select * from estimated
)

select * from final
