with

runs as (
    select * from {{ ref('int_run_given') }}
),

checks as (
    select * from {{ ref('int_run_utilisation_check') }}
),

final as (
    select
        runs.study_id,
        runs.run_id,
        runs.workload,
        runs.direction,
        runs.bandwidth_bps,
        runs.rtt_ms,
        runs.aqm,
        runs.queue_size_bdp,
        runs.queue_size_bytes,
        runs.queue_limit_packets,
        runs.queue_label,
        runs.congestion_control,
        runs.application,
        runs.rival_application,
        runs.start_order,
        runs.testbed,
        runs.queue_scheme,
        runs.congested_direction,
        runs.opposite_link,
        runs.participants,
        runs.call_view,
        runs.ecn,
        runs.l4s,
        runs.repetition,
        runs.exclusion_reason,
        checks.run_flag,
        runs.synthetic,
        runs.aqm_parameters,
        runs.bandwidth_programme,
        runs.session_id,
        runs.bottleneck_interface,
        runs.bottleneck_handle,
        runs.queue_limit_bytes,
        runs.start_ns,
        runs.window_start_ns,
        runs.window_end_ns,
        runs.window_ms,
        runs.monotonic_offset_ns,
        runs.has_capture_before,
        runs.has_capture_after,
        runs.has_queue_log,
        runs.has_tcp_polls
    from runs
    left join checks
        on
            runs.study_id = checks.study_id
            and runs.run_id = checks.run_id
)

select * from final
