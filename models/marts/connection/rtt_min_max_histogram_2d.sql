with

counted as (
    select * from {{ ref('int_rtt_min_max_day') }}
),

final as (
    select
        {{ month_of('start_date') }} as start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        min_bin_index,
        max_bin_index,
        {{ bin_lower_us('8 * min_bin_index') }} as min_lower_us,
        {{ bin_upper_us('(8 * min_bin_index + 7)') }} as min_upper_us,
        {{ bin_lower_us('8 * max_bin_index') }} as max_lower_us,
        {{ bin_upper_us('(8 * max_bin_index + 7)') }} as max_upper_us,
        cast(sum(connections) as bigint) as connections
    from counted
    group by start_month, dataset, synthetic, rtt_basis, sample_basis, min_bin_index, max_bin_index
)

select * from final
