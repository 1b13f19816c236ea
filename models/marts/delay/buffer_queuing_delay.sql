-- A configuration without background traffic fills no direction, so it is in the heat map of each direction.
with

delays as (
    select * from {{ ref('configuration_queuing_delay') }}
    where
        role = 'all'
        and runs > 0
),

configurations as (
    select
        configuration_id,
        study_id,
        testbed,
        application,
        direction,
        workload,
        coalesce(congested_direction, case when workload = 'noBG' then 'none' end) as congested_direction
    from {{ ref('configuration') }}
    where
        queue_limit_packets is not null
        and direction is not null
),

counted as (
    select
        delays.configuration_id,
        delays.delay_basis,
        delays.mean_ms,
        delays.runs,
        configurations.study_id,
        configurations.testbed,
        configurations.application,
        configurations.direction,
        configurations.workload,
        configurations.congested_direction
    from delays
    inner join configurations on delays.configuration_id = configurations.configuration_id
),

heat_maps as (
    select distinct
        study_id,
        testbed,
        application,
        congested_direction
    from counted
    where congested_direction in ('downstream', 'both', 'upstream')
),

placed as (
    select
        counted.*,
        heat_maps.congested_direction as filled_direction
    from counted
    inner join heat_maps
        on
            counted.study_id = heat_maps.study_id
            and counted.testbed is not distinct from heat_maps.testbed
            and counted.application is not distinct from heat_maps.application
            and counted.congested_direction in (heat_maps.congested_direction, 'none')
),

final as (
    select
        configuration_id,
        delay_basis,
        filled_direction,
        mean_ms,
        runs,
        cast(sum(runs) over (
            partition by study_id, testbed, application, filled_direction, direction, workload
        ) as bigint) as runs_of_all_buffers
    from placed
)

select * from final
