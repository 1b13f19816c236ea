with

source as (
    select * from {{ source('lake', 'run') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        run_id,
        start_order,
        workload,
        direction,
        bandwidth_bps,
        rtt_ms,
        aqm,
        queue_discipline,
        queue_size_bytes,
        queue_size_packets,
        queue_size_bdp,
        aqm_parameters,
        congestion_control,
        application,
        testbed,
        queue_scheme,
        congested_direction,
        participants,
        call_view,
        ecn,
        l4s,
        repetition,
        bandwidth_programme,
        bottleneck_interface,
        bottleneck_handle,
        session_id,
        start_ns,
        window_start_ns,
        window_end_ns,
        monotonic_offset_ns
    from source
)

select * from final
