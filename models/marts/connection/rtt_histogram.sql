with

counted as (
    select * from {{ ref('int_rtt_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        counted.access_technology,
        counted.rtt_statistic,
        cast(counted.bin_index as bigint) as bin_index,
        parts.start_month,
        {{ bin_lower_us('counted.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('counted.bin_index') }} as bin_upper_us,
        counted.connections
    from counted
    inner join parts on counted.part_mark = parts.part_mark
)

select * from final
