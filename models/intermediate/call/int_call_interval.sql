-- Changes in a stream between two consecutive polls. Of several polls at the same time, the last one counts.
with

polls as (
    select * from {{ ref('stg_lake__call_poll') }}
),

placed as (
    select
        *,
        row_number() over (
            partition by source_hash, peer_connection, ssrc, direction, stream_number, poll_ns
            order by poll_index desc
        ) as place
    from polls
),

changed as (
    select
        source_hash,
        peer_connection,
        ssrc,
        direction,
        stream_number,
        media_kind,
        stats_format,
        clock,
        lag(poll_ns) over (
            partition by source_hash, peer_connection, ssrc, direction, stream_number
            order by poll_ns
        ) as start_ns,
        poll_ns as end_ns,
        frame_width,
        frame_height,
        jitter_ms,
        -- Chrome reports 0 until the far end has replied, and for layers that are not sent.
        nullif(rtt_ms, 0) as rtt_ms,
        limited_by,
        {{ since_last_poll('packets') }} as packets,
        {{ since_last_poll('payload_bytes') }} as payload_bytes,
        {{ since_last_poll('lost_packets') }} as lost_packets,
        {{ since_last_poll('frames') }} as frames,
        {{ since_last_poll('qp_sum') }} as qp_sum,
        {{ since_last_poll('nack_count') }} as nack_count,
        {{ since_last_poll('pli_count') }} as pli_count,
        {{ since_last_poll('fir_count') }} as fir_count,
        {{ since_last_poll('jitter_buffer_delay_ms') }} as jitter_buffer_delay_ms,
        {{ since_last_poll('jitter_buffer_emitted') }} as jitter_buffer_emitted,
        {{ since_last_poll('freeze_count') }} as freeze_count,
        {{ since_last_poll('freezes_duration_ms') }} as freezes_duration_ms,
        {{ since_last_poll('concealed_samples') }} as concealed_samples,
        {{ since_last_poll('received_samples') }} as received_samples,
        {{ since_last_poll('bandwidth_limited_ms') }} as bandwidth_limited_ms,
        {{ since_last_poll('cpu_limited_ms') }} as cpu_limited_ms
    from placed
    where place = 1
),

final as (
    select
        source_hash,
        peer_connection,
        ssrc,
        direction,
        stream_number,
        media_kind,
        stats_format,
        clock,
        start_ns,
        end_ns,
        end_ns - start_ns as interval_ns,
        frame_width,
        frame_height,
        jitter_ms,
        rtt_ms,
        packets,
        payload_bytes,
        lost_packets,
        frames,
        qp_sum,
        nack_count,
        pli_count,
        fir_count,
        jitter_buffer_delay_ms,
        jitter_buffer_emitted,
        freeze_count,
        freezes_duration_ms,
        concealed_samples,
        received_samples,
        -- If a report gives only the current limit, that limit applies to the whole interval.
        coalesce(
            bandwidth_limited_ms,
            case when limited_by = 'bandwidth' then (end_ns - start_ns) / 1e6 when limited_by is not null then 0 end
        ) as bandwidth_limited_ms,
        coalesce(
            cpu_limited_ms,
            case when limited_by = 'cpu' then (end_ns - start_ns) / 1e6 when limited_by is not null then 0 end
        ) as cpu_limited_ms
    from changed
    where start_ns is not null
)

select * from final
