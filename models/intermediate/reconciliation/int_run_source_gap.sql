-- Why each source of a run cannot be compared; null if it can. A damaged or incomplete source is a gap, not an agreement.
with

runs as (
    select * from {{ ref('int_run_described') }}
),

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

queues as (
    select * from {{ ref('int_run_queue') }}
),

capture_pairs as (
    select * from {{ ref('int_run_capture_pair') }}
),

-- Packets of flows that could not be matched are in no total of a pair.
partial_pairs as (
    select content_hash
    from {{ ref('stg_lake__ingest_outcome') }}
    where
        format = 'capture_pair'
        and status = 'partial'
    group by content_hash
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

pair_totals as (
    select * from {{ ref('int_run_capture_pair_total') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'captures-end-together'
),

queue_counts as (
    select
        study_id,
        run_id,
        count(*) as queues,
        min(bottleneck_basis) as bottleneck_basis
    from queues
    group by study_id, run_id
),

-- A capture that ends early looks complete: the packets that it missed look like packets in flight, or like packets never sent.
pair_ends as (
    select
        capture_pairs.study_id,
        capture_pairs.run_id,
        pair_totals.in_flight_packets,
        pair_totals.not_seen_before_packets,
        thresholds.threshold_value as tolerated_ns,
        coalesce(capture_pairs.queuing_delay_max_us, 0) * 1000 as largest_delay_ns,
        -- If packets went only one way, delay_floor_ns is the offset plus the delay of the empty path.
        pair_totals.last_before_ns - pair_totals.last_after_ns
        + coalesce(capture_pairs.clock_offset_ns, capture_pairs.delay_floor_ns, 0) as ahead_ns
    from capture_pairs
    inner join pair_totals
        on
            capture_pairs.study_id = pair_totals.study_id
            and capture_pairs.run_id = pair_totals.run_id
    cross join thresholds
),

early_ends as (
    select
        study_id,
        run_id,
        case
            when in_flight_packets > 0 and ahead_ns > tolerated_ns
                then
                    'the capture after the bottleneck ends '
                    || {{ plain_text(integer_divide('ahead_ns', 1000000)) }} || ' ms before the other'
            when not_seen_before_packets > 0 and -ahead_ns > tolerated_ns + largest_delay_ns
                then
                    'the capture before the bottleneck ends '
                    || {{ plain_text(integer_divide('-ahead_ns', 1000000)) }} || ' ms before the other'
        end as early_end
    from pair_ends
),

statuses as (
    select
        study_id,
        run_id,
        max(case when measurement = 'queue_log' then status end) as queue_log_status,
        max(case when measurement = 'capture_before' then status end) as capture_before_status,
        max(case when measurement = 'capture_after' then status end) as capture_after_status,
        max(case when measurement = 'queue_counters' then status end) as queue_counters_status
    from run_sources
    group by study_id, run_id
),

final as (
    select
        runs.study_id,
        runs.run_id,
        case
            when statuses.queue_log_status is null then 'the run has no queue log'
            when statuses.queue_log_status = 'missing' then 'the queue log is not in the lake'
            when statuses.queue_log_status != 'ok' then 'the queue log is damaged'
            when queue_logs.lost_events > 0 then 'the queue log lost ' || {{ plain_text('queue_logs.lost_events') }} || ' events'
            -- Totals cover only the bottleneck's queue, and packet counts cannot show which queue that is.
            when queue_counts.queues > 1 and queue_counts.bottleneck_basis != 'manifest'
                then 'the queue log is of several queues, of which the manifest names none'
        end as queue_log_gap,
        case
            when
                statuses.capture_before_status is null or statuses.capture_after_status is null
                then 'the run has no captures before and after the bottleneck'
            when statuses.capture_before_status = 'missing' then 'the capture before the bottleneck is not in the lake'
            when statuses.capture_after_status = 'missing' then 'the capture after the bottleneck is not in the lake'
            when statuses.capture_before_status != 'ok' then 'the capture before the bottleneck is damaged'
            when statuses.capture_after_status != 'ok' then 'the capture after the bottleneck is damaged'
            when capture_pairs.run_id is null then 'the captures are not paired'
            when partial_pairs.content_hash is not null then 'packets of the captures were refused'
            else early_ends.early_end
        end as capture_pair_gap,
        -- If packets went only one way, the clock offset is unknown. The clocks may be the same, but not if delay_floor_ns, the minimum
        -- time between the capture points, is negative or longer than the RTT without queuing.
        case
            when
                capture_pairs.clock_offset_ns is null
                and (capture_pairs.delay_floor_ns < 0 or capture_pairs.delay_floor_ns > runs.rtt_ms * 1000000)
                then 'the clocks of the captures differ by an unknown time'
        end as capture_clock_gap,
        case
            when statuses.queue_counters_status is null then 'the run has no counters'
            when statuses.queue_counters_status = 'missing' then 'the counters are not in the lake'
            when statuses.queue_counters_status = 'rejected' then 'the counters are damaged'
            when counter_spans.run_id is null then 'the counters have no root discipline'
            else counter_spans.null_reason
        end as queue_counters_gap,
        coalesce(
            statuses.queue_log_status in ('partial', 'rejected')
            or queue_logs.lost_events > 0
            or statuses.capture_before_status in ('partial', 'rejected')
            or statuses.capture_after_status in ('partial', 'rejected')
            or statuses.queue_counters_status = 'rejected'
            or early_ends.early_end is not null
            or partial_pairs.content_hash is not null,
            false
        ) as is_incomplete
    from runs
    inner join statuses
        on
            runs.study_id = statuses.study_id
            and runs.run_id = statuses.run_id
    left join queue_logs
        on
            runs.study_id = queue_logs.study_id
            and runs.run_id = queue_logs.run_id
    left join queue_counts
        on
            runs.study_id = queue_counts.study_id
            and runs.run_id = queue_counts.run_id
    left join capture_pairs
        on
            runs.study_id = capture_pairs.study_id
            and runs.run_id = capture_pairs.run_id
    left join partial_pairs
        on capture_pairs.source_hash = partial_pairs.content_hash
    left join counter_spans
        on
            runs.study_id = counter_spans.study_id
            and runs.run_id = counter_spans.run_id
    left join early_ends
        on
            runs.study_id = early_ends.study_id
            and runs.run_id = early_ends.run_id
)

select * from final
