with

directions as (
    select * from {{ ref('int_run_mark_direction') }}
),

captures as (
    select * from {{ ref('int_run_mark_capture') }}
),

queues as (
    select * from {{ ref('int_run_mark_queue') }}
),

comparisons as (
    select * from {{ ref('int_run_mark_comparison') }}
),

judged as (
    select
        study_id,
        run_id,
        mark_direction,
        count(case when verdict = 'agree' then 1 end) as agreements,
        count(case when verdict = 'disagree' then 1 end) as disagreements,
        -- The first disagreement, in the order of the sources; run_mark_comparison has all of them.
        min(
            case
                when verdict = 'disagree'
                    then
                        sources || ': ' || {{ plain_text('abs(difference_packets)') }} || ' packets apart, bound '
                        || {{ plain_text('cast(bound_packets as decimal(38, 3))') }}
            end
        ) as disagreement,
        min(gap) as gap
    from comparisons
    group by study_id, run_id, mark_direction
),

final as (
    select
        directions.study_id,
        directions.run_id,
        directions.mark_direction,
        captures.app_ecn_mode,
        captures.tcp_ecn_mode,
        captures.ect0_packets,
        captures.ect1_packets,
        captures.ce_packets,
        case when directions.queue_log_gap is null then queues.marked_least_packets end as queue_log_marked_packets_min,
        case when directions.queue_log_gap is null then queues.marked_most_packets end as queue_log_marked_packets_max,
        case when directions.queue_counters_gap is null then queues.counted_least_packets end as queue_counters_marked_packets_min,
        case when directions.queue_counters_gap is null then queues.counted_most_packets end as queue_counters_marked_packets_max,
        case when directions.wire_gap is null then captures.all_least_packets end as wire_marked_packets_min,
        case when directions.wire_gap is null then captures.all_most_packets end as wire_marked_packets_max,
        case when directions.echo_gap is null then captures.declared_tcp_echoed_least_packets end as echoed_packets_min,
        case when directions.echo_gap is null then captures.declared_tcp_echoed_most_packets end as echoed_packets_max,
        cast(captures.ce_packets as double) / nullif(captures.ect0_packets + captures.ect1_packets + captures.ce_packets, 0) as ce_ratio,
        judged.agreements,
        judged.disagreements,
        case
            when judged.disagreements > 0 then 'disagree'
            when judged.agreements > 0 then 'agree'
            else 'not_comparable'
        end as mark_verdict,
        case
            when judged.disagreements > 0 then judged.disagreement
            when judged.agreements = 0 then judged.gap
        end as reason
    from directions
    inner join queues
        on
            directions.study_id = queues.study_id
            and directions.run_id = queues.run_id
    inner join judged
        on
            directions.study_id = judged.study_id
            and directions.run_id = judged.run_id
            and directions.mark_direction = judged.mark_direction
    left join captures
        on
            directions.study_id = captures.study_id
            and directions.run_id = captures.run_id
            and directions.mark_direction = captures.mark_direction
)

select * from final
