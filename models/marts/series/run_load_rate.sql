{%- set mean -%}
    coalesce(
                cast(sum(cast(value * duration_s as decimal(38, 6))) as double)
                / nullif(cast(sum(cast(duration_s as decimal(38, 6))) as double), 0),
                cast(sum(cast(value as decimal(38, 6))) as double) / count(*)
            )
{%- endset -%}
with

rates as (
    select * from {{ ref('int_run_series_value') }}
    where
        series_metric = 'rate_bps'
        and flow_name is not null
        and role is not null
        and sample_basis in ('intervals', 'samples', 'interpolated')
        and value is not null
),

-- A flow's rate over the intervals that its tool reported, weighted by length if the intervals have one. Lengths count in microseconds, so
-- the mean of shorter intervals would be beyond the rates.
flow_rates as (
    select
        study_id,
        run_id,
        role,
        measurement || '_' || coalesce(flow_direction, 'both') || '_' || sample_basis as rate_basis,
        flow_name,
        {{ clamped(mean, 'min(value)', 'max(value)') }} as rate_bps
    from rates
    group by study_id, run_id, role, measurement, flow_direction, sample_basis, flow_name
),

summarised as (
    select
        study_id,
        run_id,
        role,
        rate_basis,
        count(*) as flows,
        cast(sum(cast(rate_bps as decimal(38, 6))) as double) as rate_bps,
        min(rate_bps) as flow_min_rate_bps,
        max(rate_bps) as flow_max_rate_bps,
        cast(sum(cast(rate_bps / 1000 as decimal(38, 9))) as double) as rate_kbps_sum,
        {{ ordered_sum('rate_bps / 1000 * (rate_bps / 1000)') }} as rate_kbps_square_sum
    from flow_rates
    group by study_id, run_id, role, rate_basis
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.role,
        summarised.rate_basis,
        summarised.flows,
        summarised.rate_bps,
        summarised.flow_min_rate_bps,
        summarised.flow_max_rate_bps,
        case
            when summarised.flows > 1
                then
                    least(
                        summarised.rate_kbps_sum * summarised.rate_kbps_sum
                        / nullif(summarised.flows * summarised.rate_kbps_square_sum, 0),
                        1
                    )
        end as jain_index
    from summarised
)

select * from final
