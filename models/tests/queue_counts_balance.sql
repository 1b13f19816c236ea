-- Every packet that entered the queue left it, was dropped from it, or is still in it. Only events that the probe lost may be missing.
with

queue_counts as (
    select * from {{ ref('run_queue_count') }}
    where role = 'all'
),

final as (
    select
        study_id,
        run_id,
        enqueued_packets,
        dequeued_packets,
        dropped_in_queue_packets,
        queued_at_end_packets,
        unseen_enqueue_packets
    from queue_counts
    where
        lost_events = 0
        and enqueued_packets + unseen_enqueue_packets != dequeued_packets + dropped_in_queue_packets + queued_at_end_packets
)

select * from final
