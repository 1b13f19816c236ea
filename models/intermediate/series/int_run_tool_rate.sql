-- Bytes of each role of a run, as a tool recorded them while all roles were active. An interval partly in that time counts in proportion.
with

flows as (
    select * from {{ ref('int_run_tool_flow') }}
),

series_values as (
    select * from {{ ref('stg_lake__series') }}
    where
        value is not null
        and time_s is not null
),

within as (
    select
        flows.study_id,
        flows.run_id,
        flows.role,
        flows.series_number,
        series_values.value,
        -- least and greatest ignore nulls.
        case
            when series_values.duration_s is not null
                then
                    least(series_values.time_s, flows.window_end_s)
                    - greatest(series_values.time_s - series_values.duration_s, flows.window_start_s)
        end as held_s,
        series_values.duration_s is null
        and series_values.time_s >= flows.window_start_s
        and series_values.time_s <= flows.window_end_s as is_sample_within,
        least(flows.last_s, flows.window_end_s) - greatest(flows.first_s, flows.window_start_s) as lived_s
    from flows
    inner join series_values
        on
            flows.source_hash = series_values.source_hash
            and flows.series_number = series_values.series_number
),

-- A flow with samples has their mean rate for as long as it was active.
flow_bits as (
    select
        study_id,
        run_id,
        role,
        series_number,
        coalesce({{ ordered_sum('case when held_s > 0 then value * held_s end') }}, 0)
        + coalesce(
            {{ ordered_mean('case when is_sample_within then value end') }} * max(case when is_sample_within then lived_s end), 0
        ) as bits
    from within
    group by study_id, run_id, role, series_number
),

summed as (
    select
        flow_bits.study_id,
        flow_bits.run_id,
        flow_bits.role,
        {{ ordered_sum('flow_bits.bits') }} as bits
    from flow_bits
    group by flow_bits.study_id, flow_bits.run_id, flow_bits.role
),

roles as (
    select
        study_id,
        run_id,
        role,
        min(measurement)
        || '_' || coalesce(min(flow_direction), 'both')
        || '_' || min(sample_basis) as rate_basis,
        count(*) as flows,
        -- A role has no congestion control if its flows differ.
        case when count(distinct coalesce(congestion_control, '')) = 1 then min(congestion_control) end as congestion_control,
        min(first_s) as first_s,
        (max(window_end_s) - max(window_start_s)) * 1000 as window_ms
    from flows
    group by study_id, run_id, role
),

final as (
    select
        roles.study_id,
        roles.run_id,
        roles.role,
        roles.rate_basis,
        roles.flows,
        roles.congestion_control,
        roles.first_s,
        -- More than a double counts exactly, or than 10 Tbit/s, is no measurement: intervals may be repeated.
        case
            when summed.bits / 8 < 9007199254740992 and summed.bits * 1000 / roles.window_ms <= 1e13
                then cast(round(summed.bits / 8) as bigint)
        end as bytes,
        roles.window_ms
    from roles
    inner join summed
        on
            roles.study_id = summed.study_id
            and roles.run_id = summed.run_id
            and roles.role = summed.role
)

select * from final
