{{ config(
    severity='warn',
    meta={
        'warning': 'runs that several files describe differently',
        'advice': 'one of the descriptions is used; correct the others and ingest them again'
    }
) }}

-- Several files may describe the same run. If they contradict each other, one of them is used and this test warns.
with

runs as (
    select * from {{ source('lake', 'run') }}
),

final as (
    select
        study_id,
        run_id
    from runs
    group by study_id, run_id
    having
        count(distinct start_order) > 1
        or count(distinct workload) > 1
        or count(distinct bandwidth_bps) > 1
        or count(distinct rtt_ms) > 1
        or count(distinct aqm) > 1
        or count(distinct queue_size_bytes) > 1
        or count(distinct queue_size_packets) > 1
        or count(distinct congestion_control) > 1
        or count(distinct application) > 1
)

select * from final
