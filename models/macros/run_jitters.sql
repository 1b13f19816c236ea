{#-
    CTEs that end in `run_jitters`: the jitter of each application of a run, by role, from its RTP stream with the most packets.

    streams: CTE with the columns of run_rtp.
-#}
{% macro run_jitters(streams) -%}
ranked_streams as (
    select
        study_id,
        run_id,
        role,
        jitter_ms,
        row_number() over (
            partition by study_id, run_id, role
            order by expected_packets desc, ssrc asc
        ) as size_rank
    from {{ streams }}
    where jitter_ms is not null
),

run_jitters as (
    select
        study_id,
        run_id,
        role,
        jitter_ms
    from ranked_streams
    where size_rank = 1
)
{%- endmacro %}
