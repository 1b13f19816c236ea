{#
    CTEs `ranked` and `counted`: packets, bytes, drops and queuing delays in each second of a run's queue log, by a column (role or queue).
    The relation has one row per packet with its second; a dropped packet has no delay.
#}
{% macro delays_by_second(packets, by) -%}
ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, {{ by }}, second
            order by case when sojourn_ns is null then 1 else 0 end, sojourn_ns, packet_index
        ) as delay_rank,
        count(sojourn_ns) over (partition by study_id, run_id, {{ by }}, second) as delays
    from {{ packets }}
),

counted as (
    select
        study_id,
        run_id,
        {{ by }},
        second,
        count(case when is_dequeued then 1 end) as packets,
        coalesce(sum(case when is_dequeued then packet_bytes end), 0) as bytes,
        count(case when is_dropped then 1 end) as dropped_packets,
        max(case when delay_rank = {{ percentile_rank(500, 'delays') }} then sojourn_ns end) as median_ns,
        max(case when delay_rank = {{ percentile_rank(950, 'delays') }} then sojourn_ns end) as p95_ns,
        max(sojourn_ns) as maximum_ns
    from ranked
    group by study_id, run_id, {{ by }}, second
)
{%- endmacro %}
