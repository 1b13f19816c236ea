{%- set counted = ['sent_packets', 'sent_bytes', 'dropped_packets', 'overlimits', 'requeues', 'ecn_marked_packets'] -%}
with

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        measurement = 'queue_counters'
        and status in ('ok', 'partial')
),

counters as (
    select * from {{ ref('stg_lake__queue_counter') }}
),

polled as (
    select
        run_sources.study_id,
        run_sources.run_id,
        run_sources.status,
        counters.device,
        counters.handle,
        counters.kind,
        counters.parent,
        counters.root,
        counters.poll_start_ns,
        counters.sent_packets,
        counters.sent_bytes,
        counters.dropped_packets,
        counters.overlimits,
        counters.requeues,
        counters.ecn_marked_packets,
        counters.step_marked_packets,
        counters.backlog_bytes,
        counters.backlog_packets,
        {{ places_of_polls('counters', ['device', 'handle']) }},
        {{ any_counter_falls('counters', counted + ['step_marked_packets']) }} as falls
    from counters
    inner join run_sources
        on counters.source_hash = run_sources.measurement_hash
),

summarised as (
    select
        study_id,
        run_id,
        device,
        handle,
        max(kind) as kind,
        max(case when root then 1 else 0 end) = 1 as is_root,
        max(status) as source_status,
        count(*) as polls,
        max(case when falls then 1 else 0 end) = 1 as falls,
        cast(max(poll_start_ns) - min(poll_start_ns) as double) / 1000000 as polled_ms,
        {%- for column in counted %}
            {{ growth_between_polls(column) }} as {{ column }},
        {%- endfor %}
        {{ growth_between_polls('step_marked_packets') }} as step_marked_packets,
        max(backlog_packets) as backlog_max_packets,
        max(backlog_bytes) as backlog_max_bytes
    from polled
    group by study_id, run_id, device, handle
),

judged as (
    select
        *,
        not falls
        and {{ is_possible_growth(counted | reject('equalto', 'sent_bytes') | list, 'sent_bytes', 'polled_ms') }} as is_possible,
        {{ marks_exceed_packets('ecn_marked_packets', 'step_marked_packets', 'sent_packets', 'backlog_max_packets') }} as has_excess_marks
    from summarised
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.device,
        judged.handle,
        judged.kind,
        judged.is_root,
        judged.source_status,
        judged.polls,
        judged.polled_ms,
        {%- for column in counted %}
            case
                when judged.is_possible{{ ' and not judged.has_excess_marks' if column == 'ecn_marked_packets' }} then judged.{{ column }}
            end as {{ column }},
        {%- endfor %}
        judged.backlog_max_packets,
        judged.backlog_max_bytes
    from judged
)

select * from final
