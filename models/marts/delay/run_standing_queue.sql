{#- The window is RFC 8289's INTERVAL. A window frame cannot come from a column, so the length is set here and not in a seed. -#}
{% set window_ns = 100000000 %}
with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where
        fate = 'dequeued'
        and sojourn_ns is not null
        and departure_utc_ns is not null
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

targets as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'codel-target'
),

role_and_all_packets as (
    select
        study_id,
        run_id,
        role,
        packet_index,
        departure_utc_ns,
        sojourn_ns
    from packets
    where role in {{ competing_roles() }}

    union all

    select
        study_id,
        run_id,
        'all' as role,
        packet_index,
        departure_utc_ns,
        sojourn_ns
    from packets
),

-- A window ends at each dequeue t and covers (t - 100 ms, t], including the packet at t.
watched as (
    select
        study_id,
        run_id,
        role,
        packet_index,
        departure_utc_ns,
        min(sojourn_ns) over (
            partition by study_id, run_id, role
            order by departure_utc_ns
            range between {{ window_ns - 1 }} preceding and current row
        ) as minimum_ns,
        lead(departure_utc_ns) over (
            partition by study_id, run_id, role
            order by departure_utc_ns, packet_index
        ) as next_departure_utc_ns
    from role_and_all_packets
),

-- The value of a window applies until the next dequeue, for at most 100 ms: after that, nothing was waiting.
held as (
    select
        watched.study_id,
        watched.run_id,
        watched.role,
        watched.minimum_ns,
        watched.departure_utc_ns >= runs.window_start_ns
        and watched.departure_utc_ns < runs.window_end_ns as ends_in_window,
        greatest(
            least(
                coalesce(watched.next_departure_utc_ns, runs.window_end_ns),
                watched.departure_utc_ns + {{ window_ns }},
                runs.window_end_ns
            )
            - greatest(watched.departure_utc_ns, runs.window_start_ns),
            0
        ) as held_ns,
        targets.threshold_value as target_ns,
        targets.threshold_id as target_id,
        targets.threshold_version as target_version
    from watched
    inner join runs
        on
            watched.study_id = runs.study_id
            and watched.run_id = runs.run_id
    cross join targets
    where
        watched.departure_utc_ns >= runs.window_start_ns - {{ window_ns }}
        and watched.departure_utc_ns < runs.window_end_ns
),

ranked as (
    select
        *,
        row_number() over (partition by study_id, run_id, role, ends_in_window order by minimum_ns) as delay_rank,
        count(*) over (partition by study_id, run_id, role, ends_in_window) as windows
    from held
),

summarised as (
    select
        study_id,
        run_id,
        role,
        max(target_id) as target_id,
        max(target_version) as target_version,
        cast(max(target_ns) as double) / 1000000 as target_ms,
        count(case when ends_in_window then 1 end) as windows,
        cast(sum(case when ends_in_window then minimum_ns end) as double)
        / count(case when ends_in_window then 1 end)
        / 1000000 as minimum_sojourn_mean_ms,
        cast(
            max(case when ends_in_window and delay_rank = {{ percentile_rank(500, 'windows') }} then minimum_ns end) as double
        ) / 1000000 as minimum_sojourn_median_ms,
        cast(
            max(case when ends_in_window and delay_rank = {{ percentile_rank(950, 'windows') }} then minimum_ns end) as double
        ) / 1000000 as minimum_sojourn_p95_ms,
        cast(max(case when ends_in_window then minimum_ns end) as double) / 1000000 as minimum_sojourn_max_ms,
        cast(sum(case when minimum_ns > target_ns then held_ns else 0 end) as double) / 1000000 as time_above_target_ms
    from ranked
    group by study_id, run_id, role
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.role,
        summarised.windows,
        queue_logs.lost_events,
        summarised.minimum_sojourn_mean_ms,
        summarised.minimum_sojourn_median_ms,
        summarised.minimum_sojourn_p95_ms,
        summarised.minimum_sojourn_max_ms,
        summarised.target_id,
        summarised.target_version,
        summarised.target_ms,
        summarised.time_above_target_ms,
        summarised.time_above_target_ms / runs.window_ms as time_above_target_ratio,
        reconciliations.reconciliation_verdict
    from summarised
    inner join runs
        on
            summarised.study_id = runs.study_id
            and summarised.run_id = runs.run_id
    inner join queue_logs
        on
            summarised.study_id = queue_logs.study_id
            and summarised.run_id = queue_logs.run_id
    left join reconciliations
        on
            summarised.study_id = reconciliations.study_id
            and summarised.run_id = reconciliations.run_id
    where summarised.windows > 0
)

select * from final
