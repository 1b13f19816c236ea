with

counted as (
    select * from {{ ref('int_rtt_day') }}
),

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        rtt_statistic,
        bin_index,
        {{ month_of('start_date') }} as start_month,
        {{ bin_lower_us('bin_index') }} as bin_lower_us,
        {{ bin_upper_us('bin_index') }} as bin_upper_us,
        connections
    from counted
)

select * from final
