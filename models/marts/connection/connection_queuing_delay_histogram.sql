with

cells as (
    select * from {{ ref('int_queuing_delay_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

class_names as (
    select * from {{ ref('int_connection_class_name') }}
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        cells.detail_level,
        cells.access_technology,
        proximity_names.class_name as proximity_class,
        cells.country,
        transfer_size_names.class_name as transfer_size_class,
        cells.ip_version,
        cast(cells.bin_index as bigint) as bin_index,
        parts.start_month,
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.connections,
        true as is_upper_bound
    from cells
    inner join parts on cells.part_mark = parts.part_mark
    inner join class_names as proximity_names
        on
            proximity_names.class_kind = 'proximity'
            and cells.proximity_number = proximity_names.class_number
    inner join class_names as transfer_size_names
        on
            transfer_size_names.class_kind = 'transfer_size'
            and cells.transfer_size_number = transfer_size_names.class_number
    where cells.bin_index is not null
)

select * from final
