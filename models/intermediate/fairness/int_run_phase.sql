-- Phases of a run: the incumbent alone, both together, the incumbent alone again. The manifest gives them; if it does not, they follow from
-- the packets of the declared flows, where the competitor is present from its first packet to its last.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where start_ns is not null
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

given_phases as (
    select * from {{ ref('stg_lake__run_phase') }}
),

descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

chosen_captures as (
    select * from {{ ref('int_run_chosen_capture') }}
),

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
    where
        is_data_direction
        and role in {{ competing_roles() }}
),

flows as (
    select * from {{ ref('stg_lake__flow') }}
),

-- In a shared run, the role that starts first is the incumbent.
sides as (
    select
        run_roles.study_id,
        run_roles.run_id,
        run_roles.role,
        case
            when not run_roles.competes then 'incumbent'
            when runs.start_order = run_roles.role || '_first' then 'incumbent'
            else 'competitor'
        end as side
    from run_roles
    inner join runs
        on
            run_roles.study_id = runs.study_id
            and run_roles.run_id = runs.run_id
),

spans as (
    select
        flow_directions.study_id,
        flow_directions.run_id,
        flow_directions.role,
        min(flows.first_packet_ns) as first_ns,
        max(flows.last_packet_ns) as last_ns
    from flow_directions
    inner join chosen_captures
        on
            flow_directions.study_id = chosen_captures.study_id
            and flow_directions.run_id = chosen_captures.run_id
            and flow_directions.measurement = chosen_captures.measurement
    inner join flows
        on
            flow_directions.source_hash = flows.source_hash
            and flow_directions.flow_id = flows.flow_id
    group by
        flow_directions.study_id,
        flow_directions.run_id,
        flow_directions.role
),

present as (
    select
        sides.study_id,
        sides.run_id,
        max(case when sides.side = 'incumbent' then sides.role end) as incumbent_role,
        max(case when sides.side = 'competitor' then sides.role end) as competitor_role,
        min(case when sides.side = 'incumbent' then spans.first_ns end) as incumbent_first_ns,
        max(case when sides.side = 'incumbent' then spans.last_ns end) as incumbent_last_ns,
        min(case when sides.side = 'competitor' then spans.first_ns end) as competitor_first_ns,
        max(case when sides.side = 'competitor' then spans.last_ns end) as competitor_last_ns
    from sides
    left join spans
        on
            sides.study_id = spans.study_id
            and sides.run_id = spans.run_id
            and sides.role = spans.role
    group by
        sides.study_id,
        sides.run_id
),

manifest_phases as (
    select
        given_phases.study_id,
        given_phases.run_id,
        given_phases.phase,
        'manifest' as phase_basis,
        runs.start_ns + cast(round(given_phases.start_ms * 1000000) as bigint) as phase_start_ns,
        runs.start_ns + cast(round(given_phases.end_ms * 1000000) as bigint) as phase_end_ns
    from given_phases
    inner join descriptions
        on
            given_phases.study_id = descriptions.study_id
            and given_phases.run_id = descriptions.run_id
            and given_phases.source_hash = descriptions.source_hash
    inner join runs
        on
            given_phases.study_id = runs.study_id
            and given_phases.run_id = runs.run_id
),

manifest_runs as (
    select distinct
        study_id,
        run_id
    from manifest_phases
),

found_phases as (
    select
        study_id,
        run_id,
        'solo' as phase,
        incumbent_first_ns as phase_start_ns,
        coalesce(competitor_first_ns, incumbent_last_ns) as phase_end_ns
    from present

    union all

    select
        study_id,
        run_id,
        'competing' as phase,
        greatest(incumbent_first_ns, competitor_first_ns) as phase_start_ns,
        least(incumbent_last_ns, competitor_last_ns) as phase_end_ns
    from present
    where
        incumbent_first_ns is not null
        and competitor_first_ns is not null

    union all

    select
        study_id,
        run_id,
        'recovery' as phase,
        competitor_last_ns as phase_start_ns,
        incumbent_last_ns as phase_end_ns
    from present
    where competitor_last_ns >= incumbent_first_ns
),

flow_phases as (
    select
        found_phases.study_id,
        found_phases.run_id,
        found_phases.phase,
        'flows' as phase_basis,
        found_phases.phase_start_ns,
        found_phases.phase_end_ns
    from found_phases
    left join manifest_runs
        on
            found_phases.study_id = manifest_runs.study_id
            and found_phases.run_id = manifest_runs.run_id
    where
        manifest_runs.run_id is null
        and found_phases.phase_end_ns > found_phases.phase_start_ns
),

phases as (
    select * from manifest_phases
    union all
    select * from flow_phases
),

final as (
    select
        phases.study_id,
        phases.run_id,
        phases.phase,
        phases.phase_basis,
        phases.phase_start_ns,
        phases.phase_end_ns,
        present.incumbent_role,
        present.competitor_role
    from phases
    left join present
        on
            phases.study_id = present.study_id
            and phases.run_id = present.run_id
)

select * from final
