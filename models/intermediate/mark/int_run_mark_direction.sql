-- Directions of runs in which a source shows ECN, and why a source cannot be compared with the others.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

gaps as (
    select * from {{ ref('int_run_source_gap') }}
),

captures as (
    select * from {{ ref('int_run_mark_capture') }}
),

queues as (
    select * from {{ ref('int_run_mark_queue') }}
),

marked as (
    select
        study_id,
        run_id,
        mark_direction
    from captures
    where has_ecn

    union

    select
        study_id,
        run_id,
        'data' as mark_direction
    from queues
    where marked_most_packets > 0 or counted_most_packets > 0
),

final as (
    select
        marked.study_id,
        marked.run_id,
        marked.mark_direction,
        case
            when marked.mark_direction = 'return' then 'the queue log is of the other direction'
            when gaps.queue_log_gap is not null or gaps.study_id is null then coalesce(gaps.queue_log_gap, 'the run has no queue log')
            when not queues.log_has_codepoints then 'the queue log has no codepoints'
        end as queue_log_gap,
        case
            when marked.mark_direction = 'return' then 'the counters are of the other direction'
            when gaps.queue_counters_gap is not null or gaps.study_id is null
                then coalesce(gaps.queue_counters_gap, 'the run has no counters')
            when queues.counted_most_packets is null then 'no discipline of the counters counts marks'
        end as queue_counters_gap,
        case
            when gaps.study_id is null then 'the run has no captures before and after the bottleneck'
            when gaps.capture_pair_gap is not null then gaps.capture_pair_gap
            when captures.study_id is null then 'the captures have no packet with ECN'
        end as wire_gap,
        gaps.capture_clock_gap as wire_clock_gap,
        case
            when gaps.study_id is null then 'the run has no captures before and after the bottleneck'
            when gaps.capture_pair_gap is not null then gaps.capture_pair_gap
            when captures.study_id is null then 'the captures have no packet with ECN'
            when captures.declared_tcp_unread_echoes > 0 then 'the receiver''s counter of marks is always 0'
            when captures.declared_tcp_echoed_least_packets is null then 'no declared TCP flow uses ECN'
        end as echo_gap,
        case
            when captures.other_ce_packets > 0 then 'the counters hold marks of protocols whose echo cannot be seen'
            when not captures.polls_hold_every_mark then 'marks passed outside the time between the first poll and the last'
        end as counters_echo_gap
    from marked
    inner join runs
        on
            marked.study_id = runs.study_id
            and marked.run_id = runs.run_id
    left join gaps
        on
            marked.study_id = gaps.study_id
            and marked.run_id = gaps.run_id
    left join captures
        on
            marked.study_id = captures.study_id
            and marked.run_id = captures.run_id
            and marked.mark_direction = captures.mark_direction
    left join queues
        on
            marked.study_id = queues.study_id
            and marked.run_id = queues.run_id
)

select * from final
