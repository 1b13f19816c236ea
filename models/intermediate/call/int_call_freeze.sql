-- Freezes of the video that one end of a call received. Reports count a freeze when it ends, so its start is known only as a range: at the
-- earliest, its duration before the first of the two polls. That earliest time is used, so no part of the freeze lies before it. If a run
-- has no reports, a freeze is a gap between frames longer than max(3 d, d + 150 ms), where d is the mean of the up to 30 gaps before it (at
-- least five), and it begins at the last frame before the gap.
with

intervals as (
    select * from {{ ref('int_call_interval') }}
    where
        direction = 'inbound'
        and freezes_duration_ms is not null
),

calls as (
    select * from {{ ref('int_call') }}
),

frames as (
    select * from {{ ref('int_call_frame') }}
),

reported as (
    select
        'webrtc_statistics' as freeze_basis,
        intervals.source_hash || '/' || {{ plain_text('intervals.peer_connection') }} || '/' || {{ plain_text('intervals.ssrc') }}
        || '/' || {{ plain_text('intervals.stream_number') }} as stream_id,
        calls.study_id,
        calls.run_id,
        intervals.ssrc,
        case
            when intervals.clock = 'utc' then intervals.start_ns - cast(floor(intervals.freezes_duration_ms * 1e6) as bigint)
        end as onset_ns,
        intervals.end_ns as seen_ns,
        -- If polls are more than two seconds apart, the two seconds before a freeze cannot be located.
        intervals.clock = 'utc'
        and intervals.interval_ns <= 2000000000 as is_placed,
        coalesce(intervals.freeze_count, 1) as freezes,
        intervals.freezes_duration_ms as frozen_ms,
        cast(intervals.interval_ns as double) / 1000000 as span_ms,
        coalesce(intervals.freeze_count, 0) > 0 or intervals.freezes_duration_ms > 0 as is_freeze
    from intervals
    inner join calls
        on intervals.source_hash = calls.source_hash
),

reported_runs as (
    select distinct
        study_id,
        run_id
    from reported
    where run_id is not null
),

of_frames as (
    select
        'rtp_frames' as freeze_basis,
        {{ id_part('frames.study_id') }} || '/' || {{ id_part('frames.run_id') }} || '/' || {{ plain_text('frames.ssrc') }} as stream_id,
        frames.study_id,
        frames.run_id,
        frames.ssrc,
        frames.previous_ns as onset_ns,
        frames.arrival_ns as seen_ns,
        true as is_placed,
        cast(1 as bigint) as freezes,
        frames.gap_ns / cast(1e6 as double) as frozen_ms,
        frames.gap_ns / cast(1e6 as double) as span_ms,
        frames.gap_ns > greatest(3 * frames.mean_gap_ns, frames.mean_gap_ns + 150000000) as is_freeze
    from frames
    left join reported_runs
        on
            frames.study_id = reported_runs.study_id
            and frames.run_id = reported_runs.run_id
    where
        reported_runs.run_id is null
        and frames.mean_gap_ns is not null
),

united as (
    select * from reported
    union all
    select * from of_frames
),

final as (
    select
        freeze_basis,
        stream_id,
        study_id,
        run_id,
        ssrc,
        onset_ns,
        seen_ns,
        is_placed,
        freezes,
        case when is_freeze then frozen_ms else 0 end as frozen_ms,
        span_ms,
        is_freeze
    from united
)

select * from final
