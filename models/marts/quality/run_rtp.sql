with

rtp_streams as (
    select * from {{ ref('stg_lake__rtp_stream') }}
),

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
),

-- An SSRC seen on several 5-tuples (a call that changed its path) is represented by its longest part.
ranked as (
    select
        flow_directions.study_id,
        flow_directions.run_id,
        flow_directions.role,
        rtp_streams.ssrc,
        rtp_streams.payload_type,
        rtp_streams.expected_packets,
        rtp_streams.lost_packets,
        rtp_streams.reordered_packets,
        rtp_streams.duplicate_packets,
        rtp_streams.jitter_ms,
        rtp_streams.frames,
        rtp_streams.frame_rate_fps,
        rtp_streams.rate_bps,
        row_number() over (
            partition by flow_directions.study_id, flow_directions.run_id, flow_directions.role, rtp_streams.ssrc
            order by rtp_streams.packets desc, rtp_streams.flow_id asc
        ) as length_rank
    from rtp_streams
    inner join flow_directions
        on
            rtp_streams.source_hash = flow_directions.source_hash
            and rtp_streams.flow_id = flow_directions.flow_id
            and rtp_streams.direction = flow_directions.direction
    where
        flow_directions.measurement = 'capture_after'
        and flow_directions.role in ('app', 'rival')
        and flow_directions.is_data_direction
),

final as (
    select
        ranked.study_id,
        ranked.run_id,
        ranked.role,
        ranked.ssrc,
        'after' as capture_point,
        ranked.payload_type,
        ranked.expected_packets,
        ranked.lost_packets,
        cast(ranked.lost_packets as double) / nullif(ranked.expected_packets, 0) as loss_ratio,
        ranked.reordered_packets,
        ranked.duplicate_packets,
        ranked.jitter_ms,
        ranked.frames,
        ranked.frame_rate_fps,
        ranked.rate_bps
    from ranked
    where ranked.length_rank = 1
)

select * from final
