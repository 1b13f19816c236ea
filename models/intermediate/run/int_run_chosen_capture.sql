-- Prefer the capture after the bottleneck: its packets shared the bottleneck and reached the other end.
with

captures as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement in ('capture_before', 'capture_after')
),

preferred as (
    select
        study_id,
        run_id,
        measurement,
        measurement_hash,
        row_number() over (partition by study_id, run_id order by measurement) as preference
    from captures
),

final as (
    select
        study_id,
        run_id,
        measurement,
        measurement_hash
    from preferred
    where preference = 1
)

select * from final
