with

window_rates as (
    select * from {{ ref('int_run_window_rate') }}
),

rates as (
    select * from {{ ref('int_run_role_rate') }}
),

final as (
    select
        rates.study_id,
        rates.run_id,
        rates.role,
        rates.rate_basis,
        rates.bytes,
        rates.packets,
        rates.window_ms,
        rates.rate_bps,
        case
            when rates.rate_bps / window_rates.mean_rate_bps <= 1000 then rates.rate_bps / window_rates.mean_rate_bps
        end as utilisation_ratio
    from rates
    inner join window_rates
        on
            rates.study_id = window_rates.study_id
            and rates.run_id = window_rates.run_id
)

select * from final
