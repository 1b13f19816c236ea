with

counted as (
    select * from {{ ref('int_rtt_min_max_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

final as (
    select
        parts.start_month,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        cast(counted.min_bin_index as bigint) as min_bin_index,
        cast(counted.max_bin_index as bigint) as max_bin_index,
        {{ bin_lower_us('8 * counted.min_bin_index') }} as min_lower_us,
        {{ bin_upper_us('(8 * counted.min_bin_index + 7)') }} as min_upper_us,
        {{ bin_lower_us('8 * counted.max_bin_index') }} as max_lower_us,
        {{ bin_upper_us('(8 * counted.max_bin_index + 7)') }} as max_upper_us,
        cast(sum(counted.connections) as bigint) as connections
    from counted
    inner join parts on counted.part_fingerprint = parts.part_fingerprint
    group by
        parts.start_month,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        counted.min_bin_index,
        counted.max_bin_index
)

select * from final
