with

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

counted as (
    select
        configurations.configuration_id,
        count(case when runs.exclusion_reason is null then 1 end) as runs,
        count(runs.exclusion_reason) as excluded_runs,
        count(case when runs.exclusion_reason is null then runs.run_flag end) as flagged_runs
    from configurations
    inner join runs
        on
            configurations.study_id = runs.study_id
            and configurations.run_id = runs.run_id
    group by configurations.configuration_id
),

-- These are the same for all runs of a configuration; the first run gives them.
final as (
    select
        configurations.configuration_id,
        {{ selected_dimensions('configuration', 'runs') }},
        counted.runs,
        counted.excluded_runs,
        counted.flagged_runs
    from configurations
    inner join runs
        on
            configurations.study_id = runs.study_id
            and configurations.run_id = runs.run_id
    inner join counted
        on configurations.configuration_id = counted.configuration_id
    where configurations.run_number = 1
)

select * from final
