-- ECN marks according to the bottleneck's queue log and counters. If a log records the enqueue only after the discipline has handled the
-- packet, a mark made at enqueue looks like one that the packet arrived with, so such packets count only in the maximum. DualPI2 may count
-- a packet twice, so its counters give a range of packets.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        measurement = 'queue_counters'
        and status in ('ok', 'partial')
),

counters as (
    select * from {{ ref('stg_lake__queue_counter') }}
    where not is_class
),

scoped as (
    select
        packets.study_id,
        packets.run_id,
        coalesce(packets.is_marked_here, false) as is_marked_here,
        packets.is_marked_at_end,
        packets.role in {{ declared_roles() }} as is_declared,
        coalesce(packets.protocol = 'tcp', false) as is_tcp,
        {{ between_polls('packets.departure_utc_ns', 'packets.departure_utc_ns') }}
    from packets
    left join counter_spans
        on
            packets.study_id = counter_spans.study_id
            and packets.run_id = counter_spans.run_id
    where packets.fate = 'dequeued'
),

logged as (
    select
        study_id,
        run_id,
        count(is_marked_at_end) as known_packets,
        {%- for scope, least, most in [
            ('declared', 'is_declared', 'is_declared'),
            ('declared_tcp', 'is_declared and is_tcp', 'is_declared and is_tcp'),
            ('polled', 'is_surely_polled', 'is_perhaps_polled'),
        ] %}
            count(case when is_marked_here and {{ least }} then 1 end) as {{ scope }}_least_packets,
            count(case when is_marked_at_end and {{ most }} then 1 end) as {{ scope }}_most_packets,
        {%- endfor %}
        count(case when is_marked_here then 1 end) as marked_least_packets,
        count(case when is_marked_at_end then 1 end) as marked_most_packets
    from scoped
    group by study_id, run_id
),

polled as (
    select
        run_sources.study_id,
        run_sources.run_id,
        counters.device,
        counters.handle,
        counters.ecn_marked_packets,
        counters.step_marked_packets,
        counters.sent_packets,
        counters.backlog_packets,
        {{ places_of_polls('counters', ['device', 'handle']) }},
        {{ any_counter_falls('counters', ['ecn_marked_packets', 'step_marked_packets']) }} as falls
    from counters
    inner join run_sources
        on counters.source_hash = run_sources.measurement_hash
),

grown as (
    select
        study_id,
        run_id,
        device,
        handle,
        max(case when falls then 1 else 0 end) as falls,
        {{ growth_between_polls('ecn_marked_packets') }} as marks,
        {{ growth_between_polls('step_marked_packets') }} as step_marks,
        {{ growth_between_polls('sent_packets') }} as sent_packets,
        max(backlog_packets) as backlog_max_packets
    from polled
    group by study_id, run_id, device, handle
),

judged as (
    select
        study_id,
        run_id,
        marks,
        {{ least_marked_packets('marks', 'step_marks') }} as least_packets,
        case
            when falls = 1 or {{ marks_exceed_packets('marks', 'step_marks', 'sent_packets', 'backlog_max_packets') }} then 1 else 0
        end as is_damaged
    from grown
),

counted as (
    select
        study_id,
        run_id,
        -- The sum of all is unknown if a counter falls, because its discipline was replaced, or counts more packets than left and were
        -- queued.
        case when count(marks) > 0 and max(is_damaged) = 0 then {{ bounded_sum('least_packets') }} end as least_packets,
        case when count(marks) > 0 and max(is_damaged) = 0 then {{ bounded_sum('marks') }} end as most_packets
    from judged
    group by study_id, run_id
),

final as (
    select
        runs.study_id,
        runs.run_id,
        coalesce(logged.known_packets, 0) > 0 as log_has_codepoints,
        logged.declared_least_packets,
        logged.declared_most_packets,
        logged.declared_tcp_least_packets,
        logged.declared_tcp_most_packets,
        logged.polled_least_packets,
        logged.polled_most_packets,
        logged.marked_least_packets,
        logged.marked_most_packets,
        counted.least_packets as counted_least_packets,
        counted.most_packets as counted_most_packets
    from runs
    left join logged
        on
            runs.study_id = logged.study_id
            and runs.run_id = logged.run_id
    left join counted
        on
            runs.study_id = counted.study_id
            and runs.run_id = counted.run_id
)

select * from final
