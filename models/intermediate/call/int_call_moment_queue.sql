-- State of the queue in the two seconds before each moment, in whole steps of 100 ms that ended before it.
with

moments as (
    select * from {{ ref('int_call_moment') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where fate != 'queued_at_end'
),

moment_runs as (
    select distinct
        study_id,
        run_id
    from moments
),

steps as (
    select
        packets.study_id,
        packets.run_id,
        {{ integer_divide('packets.departure_utc_ns', '100000000') }} as step_number,
        count(*) as packets,
        count(case when packets.fate in ('dropped_at_enqueue', 'dropped_in_queue') then 1 end) as dropped_packets,
        count(packets.sojourn_ns) as timed_packets,
        cast(sum(cast(packets.sojourn_ns as decimal(19, 0))) as decimal(38, 0)) as delay_sum_ns,
        max(packets.sojourn_ns) as delay_max_ns
    from packets
    inner join moment_runs
        on
            packets.study_id = moment_runs.study_id
            and packets.run_id = moment_runs.run_id
    group by
        packets.study_id,
        packets.run_id,
        {{ integer_divide('packets.departure_utc_ns', '100000000') }}
),

-- A row for each step: a join by a range of steps would compare all moments of a run with all of its steps.
expected as (
    select
        freeze_basis,
        stream_id,
        study_id,
        run_id,
        seen_ns,
        onset_ns,
        is_freeze,
        {{ each_whole_number_below('20') }} as steps_between
    from moments
),

final as (
    select
        max(expected.freeze_basis) as freeze_basis,
        expected.stream_id,
        max(expected.study_id) as study_id,
        max(expected.run_id) as run_id,
        expected.seen_ns,
        max(expected.onset_ns) as onset_ns,
        max(case when expected.is_freeze then 1 else 0 end) = 1 as is_freeze,
        coalesce(cast(sum(steps.packets) as bigint), 0) as packets,
        cast(sum(steps.delay_sum_ns) as double) / nullif(sum(steps.timed_packets), 0) / 1e6 as queuing_delay_mean_ms,
        max(steps.delay_max_ns) / cast(1e6 as double) as queuing_delay_max_ms,
        cast(sum(steps.dropped_packets) as double) / nullif(sum(steps.packets), 0) as dropped_ratio
    from expected
    left join steps
        on
            expected.study_id = steps.study_id
            and expected.run_id = steps.run_id
            and {{ integer_divide('expected.onset_ns', '100000000') }} - 1 - expected.steps_between = steps.step_number
    group by
        expected.stream_id,
        expected.seen_ns
)

select * from final
