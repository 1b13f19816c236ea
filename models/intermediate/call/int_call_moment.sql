-- The moments that are compared: the start of each freeze, and calm seconds of the same stream, which are at least five seconds from any of
-- its freezes. A moment counts only if the two seconds before it are in the run's measurement window.
with

spans as (
    select * from {{ ref('int_call_freeze') }}
    where
        run_id is not null
        and is_placed
),

runs as (
    select * from {{ ref('int_run_described') }}
),

-- Only the first calm frame of a second is a moment: frames of the same second are not independent.
in_seconds as (
    select
        spans.freeze_basis,
        spans.stream_id,
        spans.study_id,
        spans.run_id,
        spans.onset_ns,
        spans.seen_ns,
        spans.is_freeze,
        row_number() over (
            partition by spans.stream_id, spans.is_freeze, {{ integer_divide('spans.onset_ns', '1000000000') }}
            order by spans.onset_ns, spans.seen_ns
        ) as place
    from spans
    inner join runs
        on
            spans.study_id = runs.study_id
            and spans.run_id = runs.run_id
    where
        spans.onset_ns - 2000000000 >= runs.window_start_ns
        and spans.onset_ns < runs.window_end_ns
),

freezes as (
    select
        stream_id,
        onset_ns,
        seen_ns
    from spans
    where is_freeze
),

-- Freezes before the window also disturb the seconds after them, so this uses all freezes.
disturbed as (
    select distinct
        in_seconds.stream_id,
        in_seconds.seen_ns
    from in_seconds
    inner join freezes
        on
            in_seconds.stream_id = freezes.stream_id
            and in_seconds.onset_ns < freezes.seen_ns + 5000000000
            and in_seconds.seen_ns > freezes.onset_ns - 5000000000
    where not in_seconds.is_freeze
),

final as (
    select
        in_seconds.freeze_basis,
        in_seconds.stream_id,
        in_seconds.study_id,
        in_seconds.run_id,
        in_seconds.seen_ns,
        in_seconds.onset_ns,
        in_seconds.is_freeze
    from in_seconds
    left join disturbed
        on
            in_seconds.stream_id = disturbed.stream_id
            and in_seconds.seen_ns = disturbed.seen_ns
    where
        in_seconds.is_freeze
        or (in_seconds.place = 1 and disturbed.stream_id is null)
)

select * from final
