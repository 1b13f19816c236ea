-- Growth of the counters of the bottleneck's root discipline from the first poll to the last, unless they are not of one discipline.
with

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        measurement = 'queue_counters'
        and status in ('ok', 'partial')
),

counters as (
    select * from {{ ref('stg_lake__queue_counter') }}
    where root
),

polled as (
    select
        run_sources.study_id,
        run_sources.run_id,
        counters.poll_index,
        counters.device,
        counters.handle,
        counters.poll_start_ns,
        counters.poll_end_ns,
        counters.sent_packets,
        counters.sent_bytes,
        counters.dropped_packets,
        {{ any_counter_falls('counters', ['sent_packets', 'sent_bytes', 'dropped_packets']) }} as falls,
        {{ places_of_polls('counters', []) }}
    from counters
    inner join run_sources
        on counters.source_hash = run_sources.measurement_hash
),

summarised as (
    select
        study_id,
        run_id,
        count(distinct device || ' ' || handle) as disciplines,
        count(*) as polls,
        max(case when falls then 1 else 0 end) = 1 as falls,
        max(case when place = 1 then poll_start_ns end) as first_poll_start_ns,
        max(case when place = 1 then coalesce(poll_end_ns, poll_start_ns) end) as first_poll_end_ns,
        max(case when place_from_end = 1 then poll_start_ns end) as last_poll_start_ns,
        max(case when place_from_end = 1 then coalesce(poll_end_ns, poll_start_ns) end) as last_poll_end_ns,
        {{ growth_between_polls('sent_packets') }} as sent_packets,
        {{ growth_between_polls('sent_bytes') }} as sent_bytes,
        {{ growth_between_polls('dropped_packets') }} as dropped_packets
    from polled
    group by study_id, run_id
),

judged as (
    select
        *,
        case
            when polls < 2 then 'the counters were polled once'
            when disciplines > 1 then 'the counters are of several root disciplines'
            when falls then 'the counters fall, so the discipline was replaced'
            when not {{ is_possible_growth(
                ['sent_packets', 'dropped_packets'], 'sent_bytes', 'cast(last_poll_end_ns - first_poll_start_ns as double) / 1000000'
            ) }}
                then 'the counters grow by more than a link carries'
        end as null_reason
    from summarised
),

final as (
    select
        study_id,
        run_id,
        polls,
        first_poll_start_ns,
        first_poll_end_ns,
        last_poll_start_ns,
        last_poll_end_ns,
        {%- for counter in ['sent_packets', 'sent_bytes', 'dropped_packets'] %}
            case when null_reason is null then {{ counter }} end as {{ counter }},
        {%- endfor %}
        null_reason
    from judged
)

select * from final
