with

runs as (
    select * from {{ ref('int_run_given') }}
),

checks as (
    select * from {{ ref('int_run_utilisation_check') }}
),

flagged as (
    select
        runs.*,
        checks.run_flag
    from runs
    left join checks
        on
            runs.study_id = checks.study_id
            and runs.run_id = checks.run_id
),

final as (
    select
        study_id,
        run_id,
        {{ selected_dimensions('run', 'flagged') }},
        aqm_parameters,
        bandwidth_programme,
        session_id,
        bottleneck_interface,
        bottleneck_handle,
        queue_limit_bytes,
        start_ns,
        window_start_ns,
        window_end_ns,
        window_ms,
        monotonic_offset_ns,
        has_capture_before,
        has_capture_after,
        has_queue_log,
        has_tcp_polls
    from flagged
)

select * from final
