-- Samples that `run_load_delay` summarises: delays of flows before and under load.
with

series_values as (
    select * from {{ ref('int_run_series_value') }}
),

-- A series that a tool computed over several flows has no flow_name. It is left out, because it would count these flows twice.
of_flows as (
    select
        *,
        max(case when sample_basis = 'interpolated' then 0 else 1 end) over (
            partition by study_id, run_id, measurement, series_name
        ) as is_measured
    from series_values
    where
        series_metric in ('rtt_ms', 'srtt_ms', 'one_way_delay_ms')
        and flow_name is not null
        and role is not null
        and phase in ('idle', 'loaded')
),

-- Interpolated values count only if the series has no measured ones.
final as (
    select
        study_id,
        run_id,
        role,
        measurement || '_' || series_metric || '_' || sample_basis as delay_basis,
        phase,
        measurement,
        series_metric,
        series_number,
        sample_number,
        value
    from of_flows
    where
        sample_basis != 'interpolated'
        or is_measured = 0
)

select * from final
