with

cells as (
    select * from {{ ref('int_queuing_delay_as_month') }}
),

final as (
    select
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        detail_level,
        access_technology,
        country,
        asn,
        cast(bin_index as bigint) as bin_index,
        {{ bin_lower_us('bin_index') }} as bin_lower_us,
        {{ bin_upper_us('bin_index') }} as bin_upper_us,
        connections,
        true as is_upper_bound
    from cells
    where bin_index is not null
)

select * from final
