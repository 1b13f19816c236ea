-- A damaged file counts up to the damage: a series need not cover a window.
with

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        status in ('ok', 'partial')
        and measurement in (
            'flent', 'iperf3', 'iperf3_server', 'iperf2', 'irtt', 'ping', 'fping', 'qlog', 'qlog_client', 'qlog_server', 'crusader',
            'network_quality', 'speed_test', 'streaming'
        )
),

final as (
    select
        study_id,
        run_id,
        measurement,
        measurement_hash as source_hash
    from run_sources
)

select * from final
