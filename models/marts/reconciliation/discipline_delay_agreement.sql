with

runs as (
    select * from {{ ref('int_run_described') }}
),

delay_pairs as (
    select * from {{ ref('int_packet_delay_pair') }}
    where difference_ns is not null
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

run_packets as (
    select
        delay_pairs.study_id,
        delay_pairs.run_id,
        runs.aqm,
        runs.bandwidth_bps,
        runs.synthetic,
        runs.exclusion_reason is null as is_counted,
        delay_pairs.difference_ns,
        delay_pairs.is_beyond_frame
    from delay_pairs
    inner join runs
        on
            delay_pairs.study_id = runs.study_id
            and delay_pairs.run_id = runs.run_id
),

at_each_and_at_all_rates as (
    {%- for bandwidth in ['bandwidth_bps', 'cast(null as bigint) as bandwidth_bps'] %}
        {{ 'union all' if not loop.first }}
        select
            study_id,
            run_id,
            aqm,
            {{ bandwidth }},
            synthetic,
            is_counted,
            difference_ns,
            is_beyond_frame
        from run_packets
    {%- endfor %}
),

run_levels as (
    select distinct
        at_each_and_at_all_rates.study_id,
        at_each_and_at_all_rates.run_id,
        at_each_and_at_all_rates.aqm,
        at_each_and_at_all_rates.bandwidth_bps,
        at_each_and_at_all_rates.is_counted,
        queue_logs.lost_events
    from at_each_and_at_all_rates
    inner join queue_logs
        on
            at_each_and_at_all_rates.study_id = queue_logs.study_id
            and at_each_and_at_all_rates.run_id = queue_logs.run_id
),

run_counts as (
    select
        study_id,
        aqm,
        bandwidth_bps,
        count(case when is_counted then 1 end) as runs,
        count(case when not is_counted then 1 end) as excluded_runs,
        cast(sum(case when is_counted then lost_events end) as bigint) as lost_events
    from run_levels
    group by study_id, aqm, bandwidth_bps
),

summarised as (
    select
        study_id,
        aqm,
        bandwidth_bps,
        synthetic,
        {{ delay_difference_figures() }}
    from at_each_and_at_all_rates
    where is_counted
    group by study_id, aqm, bandwidth_bps, synthetic
),

final as (
    select
        summarised.study_id,
        summarised.aqm,
        summarised.bandwidth_bps,
        summarised.synthetic,
        run_counts.runs,
        run_counts.excluded_runs,
        summarised.packets,
        summarised.beyond_frame_packets,
        run_counts.lost_events,
        summarised.difference_mean_ms,
        summarised.difference_p5_ms,
        summarised.difference_q1_ms,
        summarised.difference_median_ms,
        summarised.difference_q3_ms,
        summarised.difference_p95_ms,
        summarised.difference_min_ms,
        summarised.difference_max_ms
    from summarised
    inner join run_counts
        on
            summarised.study_id = run_counts.study_id
            and summarised.aqm = run_counts.aqm
            and coalesce(summarised.bandwidth_bps, -1) = coalesce(run_counts.bandwidth_bps, -1)
)

select * from final
