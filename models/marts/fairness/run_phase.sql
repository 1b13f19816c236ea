with

runs as (
    select * from {{ ref('int_run_described') }}
),

phases as (
    select * from {{ ref('int_run_phase') }}
),

seconds as (
    select * from {{ ref('int_run_phase_second') }}
),

rated as (
    select
        study_id,
        run_id,
        phase,
        max(rate_basis) as rate_basis,
        -- Each second has a row for both roles.
        count(distinct run_second) as seconds,
        cast(sum(case when side = 'incumbent' then bytes end) as double) * 8
        / nullif(count(case when side = 'incumbent' then 1 end), 0) as incumbent_rate_bps,
        cast(sum(case when side = 'competitor' then bytes end) as double) * 8
        / nullif(count(case when side = 'competitor' then 1 end), 0) as competitor_rate_bps,
        -- A second before the programme starts has no link rate, which makes the mean unknown.
        case
            when count(link_rate_bps) = count(*)
                then
                    cast(sum(case when side = 'incumbent' then cast(link_rate_bps as bigint) end) as double)
                    / nullif(count(case when side = 'incumbent' then 1 end), 0)
        end as phase_link_rate_bps
    from seconds
    group by study_id, run_id, phase
),

final as (
    select
        phases.study_id,
        phases.run_id,
        phases.phase as run_phase,
        phases.phase_basis,
        cast(phases.phase_start_ns - runs.start_ns as double) / 1000000 as phase_start_ms,
        cast(phases.phase_end_ns - runs.start_ns as double) / 1000000 as phase_end_ms,
        phases.incumbent_role,
        phases.competitor_role,
        {%- for side in ['incumbent', 'competitor'] %}
            {%- set role = 'phases.' ~ side ~ '_role' %}
            {%- set application = "case " ~ role ~ " when 'app' then runs.application when 'rival' then runs.rival_application end" %}
            case
                when {{ role }} = 'tcp' then 'tcp ' || runs.congestion_control
                -- An application may be named like TCP with a congestion control.
                when {{ application }} like 'tcp %' then '%' || {{ application }}
                else {{ application }}
            end as {{ side }},
        {%- endfor %}
        rated.rate_basis,
        coalesce(rated.seconds, 0) as seconds,
        rated.incumbent_rate_bps,
        rated.competitor_rate_bps,
        rated.phase_link_rate_bps,
        rated.incumbent_rate_bps / rated.phase_link_rate_bps as incumbent_share_of_link_ratio,
        rated.competitor_rate_bps / rated.phase_link_rate_bps as competitor_share_of_link_ratio,
        -- Without competition, the incumbent sends everything.
        case
            when phases.phase = 'competing'
                then rated.incumbent_rate_bps / nullif(rated.incumbent_rate_bps + rated.competitor_rate_bps, 0)
        end as incumbent_share_ratio
    from phases
    inner join runs
        on
            phases.study_id = runs.study_id
            and phases.run_id = runs.run_id
    left join rated
        on
            phases.study_id = rated.study_id
            and phases.run_id = rated.run_id
            and phases.phase = rated.phase
)

select * from final
