-- One file describes each run. Files may contradict each other, so they are never mixed.
with

runs as (
    select * from {{ ref('stg_lake__run') }}
),

run_flows as (
    select * from {{ ref('stg_lake__run_flow') }}
),

run_sources as (
    select * from {{ ref('stg_lake__run_source') }}
),

declarations as (
    select
        study_id,
        run_id,
        source_hash
    from run_flows

    union

    select
        study_id,
        run_id,
        source_hash
    from run_sources
),

-- A study table does not list a run's flows and files, so a manifest takes precedence.
ranked as (
    select
        runs.study_id,
        runs.run_id,
        runs.source_hash,
        declarations.run_id is not null as is_manifest,
        row_number() over (
            partition by runs.study_id, runs.run_id
            order by
                case when declarations.run_id is not null then 0 else 1 end,
                runs.source_hash
        ) as preference
    from runs
    left join declarations
        on
            runs.study_id = declarations.study_id
            and runs.run_id = declarations.run_id
            and runs.source_hash = declarations.source_hash
),

final as (
    select
        study_id,
        run_id,
        source_hash,
        is_manifest,
        preference = 1 as is_chosen
    from ranked
)

select * from final
