{%- set key = ['source_hash', 'peer_connection', 'ssrc', 'direction', 'stream_number', 'second'] -%}
with

intervals as (
    select * from {{ ref('int_call_interval') }}
),

calls as (
    select * from {{ ref('int_call') }}
),

-- An interval counts in the second in which it ends. Seconds count from the call's first poll on the same clock.
in_seconds as (
    select
        intervals.*,
        {{ integer_divide(
            "intervals.end_ns - case when intervals.clock = 'utc' then calls.first_poll_ns else calls.first_undated_poll_ns end",
            '1000000000'
        ) }} as second
    from intervals
    inner join calls
        on intervals.source_hash = calls.source_hash
),

figures as (
    select
        {{ key | join(', ') }},
        max(media_kind) as media_kind,
        max(case when clock = 'utc' then end_ns end) as last_poll_ns,
        {{ call_figures(is_bounded=false) }}
    from in_seconds
    group by {{ key | join(', ') }}
),

final as (
    select
        figures.source_hash,
        figures.peer_connection,
        figures.ssrc,
        figures.direction,
        figures.stream_number,
        figures.second,
        calls.study_id,
        calls.run_id,
        figures.media_kind,
        figures.last_poll_ns,
        {{ call_figure_columns('figures') }}
    from figures
    inner join calls
        on figures.source_hash = calls.source_hash
)

select * from final
