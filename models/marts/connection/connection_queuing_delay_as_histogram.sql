with

cells as (
    select * from {{ ref('int_queuing_delay_as_month') }}
),

parts as (
    select distinct
        month_part_mark,
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from {{ ref('int_connection_part') }}
),

final as (
    select
        parts.start_month,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        cells.detail_level,
        cells.access_technology,
        cells.country,
        cells.asn,
        cast(cells.bin_index as bigint) as bin_index,
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.connections,
        true as is_upper_bound
    from cells
    inner join parts on cells.month_part_mark = parts.month_part_mark
    where cells.bin_index is not null
)

select * from final
