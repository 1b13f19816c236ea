-- Bottleneck rate over a run's window: the mean limits what the link can carry, and at the lowest the queue drains most slowly.
with

runs as (
    select * from {{ ref('int_run_given') }}
),

spans as (
    select * from {{ ref('int_run_link_rate') }}
),

held as (
    select
        runs.study_id,
        runs.run_id,
        runs.window_end_ns - runs.window_start_ns as window_ns,
        spans.bandwidth_bps,
        least(spans.span_end_ns, runs.window_end_ns) - greatest(spans.span_start_ns, runs.window_start_ns) as held_ns
    from runs
    inner join spans
        on
            runs.study_id = spans.study_id
            and runs.run_id = spans.run_id
            and runs.window_start_ns < spans.span_end_ns
            and runs.window_end_ns > spans.span_start_ns
    where runs.bandwidth_programme is not null
),

-- If a window begins before its programme, part of it has no rate, so neither figure is known.
weighted as (
    select
        study_id,
        run_id,
        min(bandwidth_bps) as lowest_rate_bps,
        round(sum(cast(bandwidth_bps as double) * held_ns) / max(window_ns), 6) as mean_rate_bps
    from held
    group by study_id, run_id
    having sum(held_ns) = max(window_ns)
),

final as (
    select
        runs.study_id,
        runs.run_id,
        case when runs.bandwidth_programme is null then 'fixed_rate' else 'bandwidth_programme' end as link_rate_basis,
        case
            when runs.bandwidth_programme is null then cast(runs.bandwidth_bps as double)
            else weighted.mean_rate_bps
        end as mean_rate_bps,
        case
            when runs.bandwidth_programme is null then runs.bandwidth_bps
            else weighted.lowest_rate_bps
        end as lowest_rate_bps
    from runs
    left join weighted
        on
            runs.study_id = weighted.study_id
            and runs.run_id = weighted.run_id
)

select * from final
