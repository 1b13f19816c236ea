with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

given_blocks as (
    select * from {{ ref('stg_lake__run_block') }}
),

descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

blocks as (
    select
        given_blocks.study_id,
        given_blocks.run_id,
        given_blocks.block
    from given_blocks
    inner join descriptions
        on
            given_blocks.study_id = descriptions.study_id
            and given_blocks.run_id = descriptions.run_id
            and given_blocks.source_hash = descriptions.source_hash
),

final as (
    select
        runs.study_id,
        runs.run_id,
        {{ selected_dimensions('run', 'runs') }},
        configurations.configuration_id,
        configurations.run_number,
        runs.aqm_parameters,
        runs.bandwidth_programme,
        runs.session_id,
        blocks.block,
        runs.start_ns,
        runs.window_start_ns,
        runs.window_end_ns,
        runs.window_ms,
        runs.has_capture_before and runs.has_capture_after as has_captures,
        runs.has_queue_log,
        runs.has_tcp_polls,
        reconciliations.reconciliation_verdict,
        reconciliations.reconciliation_reason
    from runs
    inner join configurations
        on
            runs.study_id = configurations.study_id
            and runs.run_id = configurations.run_id
    left join blocks
        on
            runs.study_id = blocks.study_id
            and runs.run_id = blocks.run_id
    left join reconciliations
        on
            runs.study_id = reconciliations.study_id
            and runs.run_id = reconciliations.run_id
)

select * from final
