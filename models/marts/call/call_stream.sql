{%- set key = ['source_hash', 'peer_connection', 'ssrc', 'direction', 'stream_number'] -%}
with

intervals as (
    select * from {{ ref('int_call_interval') }}
),

calls as (
    select * from {{ ref('int_call') }}
),

figures as (
    select
        {{ key | join(', ') }},
        max(media_kind) as media_kind,
        max(stats_format) as stats_format,
        min(case when clock = 'utc' then start_ns end) as first_poll_ns,
        {{ call_figures() }}
    from intervals
    group by {{ key | join(', ') }}
),

final as (
    select
        figures.source_hash,
        figures.peer_connection,
        figures.ssrc,
        figures.direction,
        figures.stream_number,
        calls.study_id,
        calls.run_id,
        figures.media_kind,
        figures.stats_format,
        figures.first_poll_ns,
        {{ call_figure_columns('figures') }}
    from figures
    inner join calls
        on figures.source_hash = calls.source_hash
)

select * from final
