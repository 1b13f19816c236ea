with

freezes as (
    select * from {{ ref('int_call_freeze') }}
    where is_freeze
),

moments as (
    select * from {{ ref('int_call_moment_queue') }}
    where is_freeze
),

final as (
    select
        freezes.stream_id,
        freezes.seen_ns,
        freezes.study_id,
        freezes.run_id,
        freezes.ssrc,
        freezes.freeze_basis,
        freezes.onset_ns,
        freezes.freezes,
        freezes.frozen_ms,
        moments.packets as packets_before,
        moments.queuing_delay_mean_ms as queuing_delay_before_mean_ms,
        moments.queuing_delay_max_ms as queuing_delay_before_max_ms,
        moments.dropped_ratio as dropped_before_ratio,
        case
            when moments.packets > 0 then null
            when freezes.run_id is null then 'no manifest of a run is beside the statistics'
            when freezes.onset_ns is null then 'the clock of the statistics was not set'
            when not freezes.is_placed then 'polls lie more than 2 s apart'
            when moments.stream_id is null then 'the two seconds before do not lie in the window of the run'
            else 'no packet of a queue log in the two seconds before'
        end as queue_null_reason
    from freezes
    left join moments
        on
            freezes.stream_id = moments.stream_id
            and freezes.seen_ns = moments.seen_ns
)

select * from final
