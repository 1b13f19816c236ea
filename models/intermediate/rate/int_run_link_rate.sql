-- Spans of time in which the bottleneck of a run had one rate: its fixed rate, or the steps of its programme from the run's start.
{%- set end_of_time_ns = 9000000000000000000 %}
with

runs as (
    select * from {{ ref('int_run_given') }}
),

steps as (
    select * from {{ ref('stg_lake__bandwidth_step') }}
),

fixed as (
    select
        study_id,
        run_id,
        cast(0 as int) as span_number,
        cast(0 as bigint) as span_start_ns,
        cast({{ end_of_time_ns }} as bigint) as span_end_ns,
        bandwidth_bps
    from runs
    where
        bandwidth_programme is null
        and bandwidth_bps is not null
),

-- A programme starts with its run, so it cannot be placed in time if the run's start is unknown.
programmed as (
    select
        runs.study_id,
        runs.run_id,
        steps.step_number as span_number,
        runs.start_ns + cast(steps.second as bigint) * 1000000000 as span_start_ns,
        steps.bandwidth_bps
    from runs
    inner join steps
        on
            runs.study_id = steps.study_id
            and runs.bandwidth_programme = steps.bandwidth_programme
    where runs.start_ns is not null
),

final as (
    select
        study_id,
        run_id,
        span_number,
        span_start_ns,
        span_end_ns,
        bandwidth_bps
    from fixed

    union all

    select
        study_id,
        run_id,
        span_number,
        span_start_ns,
        coalesce(
            lead(span_start_ns) over (partition by study_id, run_id order by span_number),
            cast({{ end_of_time_ns }} as bigint)
        ) as span_end_ns,
        bandwidth_bps
    from programmed
)

select * from final
