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

calm as (
    select
        freeze_basis,
        stream_id,
        study_id,
        run_id,
        seen_ns,
        onset_ns,
        seen_ns as position_ns,
        cast(null as bigint) as disturbed_until_ns
    from in_seconds
    where
        not is_freeze
        and place = 1
),

-- Freezes before the window also disturb the seconds after them, so this uses all freezes.
freezes as (
    select
        cast(null as string) as freeze_basis,
        stream_id,
        cast(null as string) as study_id,
        cast(null as string) as run_id,
        cast(null as bigint) as seen_ns,
        cast(null as bigint) as onset_ns,
        onset_ns - 5000000000 as position_ns,
        seen_ns + 5000000000 as disturbed_until_ns
    from spans
    where is_freeze
),

in_order as (
    select * from calm
    union all
    select * from freezes
),

-- A join of each calm second with the freezes around it would have as many pairs as the square of their number: of the freezes that
-- began less than five seconds after it was over, or before, the one with the latest end decides.
disturbed as (
    select
        *,
        max(disturbed_until_ns) over (
            partition by stream_id
            -- Of two at the same position, the calm second comes first, because the freeze begins exactly five seconds later.
            order by position_ns, case when disturbed_until_ns is null then 0 else 1 end
            rows between unbounded preceding and current row
        ) as latest_ns
    from in_order
),

final as (
    select
        freeze_basis,
        stream_id,
        study_id,
        run_id,
        seen_ns,
        onset_ns,
        true as is_freeze
    from in_seconds
    where is_freeze
    union all
    select
        freeze_basis,
        stream_id,
        study_id,
        run_id,
        seen_ns,
        onset_ns,
        false as is_freeze
    from disturbed
    where
        disturbed_until_ns is null
        and (latest_ns is null or latest_ns <= onset_ns)
)

select * from final
