-- A second belongs to the phase that contains its midpoint, so a phase that begins or ends within a second gets all of that second or none
-- of it.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where start_ns is not null
),

phases as (
    select * from {{ ref('int_run_phase') }}
),

capture_seconds as (
    select * from {{ ref('int_capture_second') }}
),

link_rates as (
    select * from {{ ref('int_run_link_rate') }}
),

bases as (
    select
        study_id,
        run_id,
        min(measurement) as rate_basis
    from capture_seconds
    group by study_id, run_id
),

seconds as (
    select
        capture_seconds.study_id,
        capture_seconds.run_id,
        capture_seconds.role,
        capture_seconds.second,
        bases.rate_basis,
        capture_seconds.bytes,
        runs.start_ns + cast(capture_seconds.second as bigint) * 1000000000 + 500000000 as middle_ns
    from capture_seconds
    inner join bases
        on
            capture_seconds.study_id = bases.study_id
            and capture_seconds.run_id = bases.run_id
            and capture_seconds.measurement = bases.rate_basis
    inner join runs
        on
            capture_seconds.study_id = runs.study_id
            and capture_seconds.run_id = runs.run_id
),

competition_starts as (
    select
        phases.study_id,
        phases.run_id,
        cast(floor(cast(phases.phase_start_ns - runs.start_ns as double) / 1000000000 + 0.5) as bigint) as competition_second
    from phases
    inner join runs
        on
            phases.study_id = runs.study_id
            and phases.run_id = runs.run_id
    where phases.phase = 'competing'
),

final as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.role,
        cast(seconds.second as bigint) as run_second,
        phases.phase,
        phases.phase_basis,
        case
            when phases.incumbent_role = seconds.role then 'incumbent'
            when phases.competitor_role = seconds.role then 'competitor'
        end as side,
        cast(seconds.second as bigint) - competition_starts.competition_second as competition_second,
        seconds.rate_basis,
        seconds.bytes,
        cast(seconds.bytes as double) * 8 as rate_bps,
        link_rates.bandwidth_bps as link_rate_bps
    from seconds
    inner join phases
        on
            seconds.study_id = phases.study_id
            and seconds.run_id = phases.run_id
            and seconds.middle_ns >= phases.phase_start_ns
            and seconds.middle_ns < phases.phase_end_ns
    left join competition_starts
        on
            seconds.study_id = competition_starts.study_id
            and seconds.run_id = competition_starts.run_id
    left join link_rates
        on
            seconds.study_id = link_rates.study_id
            and seconds.run_id = link_rates.run_id
            and seconds.middle_ns >= link_rates.span_start_ns
            and seconds.middle_ns < link_rates.span_end_ns
)

select * from final
