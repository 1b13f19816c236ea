-- Result of a throughput test in a run: the TCP rate by direction.
with

captured_rates as (
    select * from {{ ref('run_rate') }}
    where
        role = 'tcp'
        and rate_basis in ('capture_after', 'study_table')
),

tool_rates as (
    select * from {{ ref('run_load_rate') }}
    where role = 'tcp'
),

stated_rates as (
    select * from {{ ref('int_run_series_value') }}
    where
        measurement in ('speed_test', 'network_quality')
        and series_metric = 'rate_bps'
        and sample_basis = 'total'
        and role = 'tcp'
),

runs as (
    select * from {{ ref('int_run_described') }}
),

captured as (
    select
        captured_rates.study_id,
        captured_rates.run_id,
        max(case when runs.direction = 'downlink' then captured_rates.rate_bps end) as download_bps,
        max(case when runs.direction = 'uplink' then captured_rates.rate_bps end) as upload_bps
    from captured_rates
    inner join runs
        on
            captured_rates.study_id = runs.study_id
            and captured_rates.run_id = runs.run_id
    group by captured_rates.study_id, captured_rates.run_id
),

-- A tool's direction is relative to its own host, which need not match the link's: it counts only if no capture gives the direction.
tools as (
    select
        tool_rates.study_id,
        tool_rates.run_id,
        max(case when tool_rates.rate_basis like '%downlink%' then tool_rates.rate_bps end) as download_bps,
        max(case when tool_rates.rate_basis like '%uplink%' then tool_rates.rate_bps end) as upload_bps
    from tool_rates
    left join captured
        on
            tool_rates.study_id = captured.study_id
            and tool_rates.run_id = captured.run_id
    where captured.run_id is null
    group by tool_rates.study_id, tool_rates.run_id
),

-- Only a file with a single result counts: with several servers, there are several values and none is chosen.
stated as (
    select
        study_id,
        run_id,
        max(case when flow_direction = 'downlink' then value end) as download_bps,
        max(case when flow_direction = 'uplink' then value end) as upload_bps
    from stated_rates
    group by study_id, run_id
    having
        count(case when flow_direction = 'downlink' then 1 end) <= 1
        and count(case when flow_direction = 'uplink' then 1 end) <= 1
),

together as (
    select * from captured

    union all

    select * from tools

    union all

    select * from stated
),

summarised as (
    select
        study_id,
        run_id,
        max(download_bps) as download_bps,
        max(upload_bps) as upload_bps
    from together
    group by study_id, run_id
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.download_bps,
        summarised.upload_bps
    from summarised
)

select * from final
