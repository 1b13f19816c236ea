with

intervals as (
    select * from {{ ref('int_call_interval') }}
),

calls as (
    select * from {{ ref('int_call') }}
),

figures as (
    select
        source_hash,
        peer_connection,
        direction,
        coalesce(media_kind, 'unknown') as media_kind,
        count(distinct ssrc) as streams,
        {{ call_figures() }}
    from intervals
    group by source_hash, peer_connection, direction, coalesce(media_kind, 'unknown')
),

final as (
    select
        figures.source_hash,
        figures.peer_connection,
        figures.direction,
        figures.media_kind,
        calls.study_id,
        calls.run_id,
        figures.streams,
        {{ call_figure_columns('figures') }}
    from figures
    inner join calls
        on figures.source_hash = calls.source_hash
)

select * from final
