{#- Dimensions that are computed here, or in int_run_described (run_flag). The others are columns of the lake's table of runs. -#}
{%- set made_here = [
    'queue_size_bdp', 'queue_limit_packets', 'queue_label', 'rival_application', 'start_order', 'opposite_link',
    'exclusion_reason', 'run_flag', 'synthetic',
] -%}
with

described_runs as (
    select * from {{ ref('stg_lake__run') }}
),

descriptions as (
    select * from {{ ref('int_run_description_choice') }}
),

studies as (
    select * from {{ ref('int_study') }}
),

given_exclusions as (
    select * from {{ ref('stg_lake__run_exclusion') }}
),

rivals as (
    select * from {{ ref('stg_lake__run_rival') }}
),

opposite_links as (
    select * from {{ ref('int_run_link') }}
    where not is_bottleneck
),

queue_disciplines as (
    select * from {{ ref('queue_discipline') }}
),

usable_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where is_usable
),

tool_rates as (
    select * from {{ ref('int_run_tool_rate') }}
),

-- A tool that starts two flows together starts them within a second of each other, in either order, and such a run is tcp_first.
pairs as (
    select
        study_id,
        run_id,
        case
            when max(case when role = 'rival' then first_s end) < max(case when role = 'tcp' then first_s end) - 1 then 'rival_first'
            else 'tcp_first'
        end as start_order
    from tool_rates
    group by study_id, run_id
    having max(case when role = 'rival' then 1 else 0 end) = 1
),

runs as (
    select described_runs.*
    from described_runs
    inner join descriptions
        on
            described_runs.study_id = descriptions.study_id
            and described_runs.run_id = descriptions.run_id
            and described_runs.source_hash = descriptions.source_hash
    where descriptions.is_chosen
),

-- A study table may exclude a run that another file describes, but a manifest that was not chosen may not.
ranked_exclusions as (
    select
        given_exclusions.study_id,
        given_exclusions.run_id,
        given_exclusions.exclusion_reason,
        row_number() over (
            partition by given_exclusions.study_id, given_exclusions.run_id
            order by
                case when descriptions.is_chosen then 0 else 1 end,
                given_exclusions.source_hash
        ) as preference
    from given_exclusions
    left join descriptions
        on
            given_exclusions.study_id = descriptions.study_id
            and given_exclusions.run_id = descriptions.run_id
            and given_exclusions.source_hash = descriptions.source_hash
    where coalesce(descriptions.is_chosen or not descriptions.is_manifest, true)
),

exclusions as (
    select
        study_id,
        run_id,
        exclusion_reason
    from ranked_exclusions
    where preference = 1
),

measurements as (
    select
        study_id,
        run_id,
        max(case when measurement = 'capture_before' then 1 else 0 end) = 1 as has_capture_before,
        max(case when measurement = 'capture_after' then 1 else 0 end) = 1 as has_capture_after,
        max(case when measurement = 'queue_log' then 1 else 0 end) = 1 as has_queue_log,
        max(case when measurement = 'tcp_polls' then 1 else 0 end) = 1 as has_tcp_polls
    from usable_sources
    group by study_id, run_id
),

sized as (
    select
        study_id,
        run_id,
        case
            when queue_size_bdp is not null then queue_size_bdp
            when queue_size_packets is null then cast(queue_size_bytes as double) * 8000 / nullif(bandwidth_bps * rtt_ms, 0)
        end as queue_size_bdp,
        case when queue_size_packets is null then queue_size_bytes end as queue_limit_bytes,
        queue_size_packets as queue_limit_packets
    from runs
),

final as (
    select
        runs.study_id,
        runs.run_id,
        {{ selected_dimensions('run', 'runs', without=made_here) }},
        sized.queue_size_bdp,
        sized.queue_limit_packets,
        case
            when queue_disciplines.label_shows_size and sized.queue_limit_packets is not null
                then queue_disciplines.label || ' ' || {{ plain_text('sized.queue_limit_packets') }} || ' packets'
            when queue_disciplines.label_shows_size and sized.queue_size_bdp is not null
                then queue_disciplines.label || ' ' || {{ plain_text('round(sized.queue_size_bdp, 2)') }} || ' BDP'
            else coalesce(queue_disciplines.label, runs.aqm)
        end as queue_label,
        rivals.rival_application,
        coalesce(pairs.start_order, runs.start_order) as start_order,
        opposite_links.link_label as opposite_link,
        exclusions.exclusion_reason,
        studies.synthetic,
        runs.aqm_parameters,
        runs.bandwidth_programme,
        runs.session_id,
        runs.bottleneck_interface,
        runs.bottleneck_handle,
        sized.queue_limit_bytes,
        runs.start_ns,
        runs.window_start_ns,
        runs.window_end_ns,
        cast(runs.window_end_ns - runs.window_start_ns as double) / 1000000 as window_ms,
        runs.monotonic_offset_ns,
        coalesce(measurements.has_capture_before, false) as has_capture_before,
        coalesce(measurements.has_capture_after, false) as has_capture_after,
        coalesce(measurements.has_queue_log, false) as has_queue_log,
        coalesce(measurements.has_tcp_polls, false) as has_tcp_polls
    from runs
    inner join sized
        on
            runs.study_id = sized.study_id
            and runs.run_id = sized.run_id
    inner join studies
        on runs.study_id = studies.study_id
    left join exclusions
        on
            runs.study_id = exclusions.study_id
            and runs.run_id = exclusions.run_id
    left join rivals
        on
            runs.study_id = rivals.study_id
            and runs.run_id = rivals.run_id
            and runs.source_hash = rivals.source_hash
    left join pairs
        on
            runs.study_id = pairs.study_id
            and runs.run_id = pairs.run_id
    left join opposite_links
        on
            runs.study_id = opposite_links.study_id
            and runs.run_id = opposite_links.run_id
    left join queue_disciplines
        on runs.aqm = queue_disciplines.aqm
    left join measurements
        on
            runs.study_id = measurements.study_id
            and runs.run_id = measurements.run_id
)

select * from final
