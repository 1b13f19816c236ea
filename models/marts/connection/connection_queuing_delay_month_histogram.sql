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

month_parts as (
    select distinct
        month_part_mark,
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts
),

-- Sums of what the cube serves, so they say nothing of small cells that it does not.
added_up as (
    select
        parts.month_part_mark,
        cells.access_technology,
        cells.proximity_number,
        cells.country,
        cells.transfer_size_number,
        cells.ip_version,
        cells.bin_index,
        cast(sum(cells.connections) as bigint) as connections
    from cells
    inner join parts on cells.part_mark = parts.part_mark
    where cells.bin_index is not null
    group by
        parts.month_part_mark,
        cells.access_technology,
        cells.proximity_number,
        cells.country,
        cells.transfer_size_number,
        cells.ip_version,
        cells.bin_index
),

final as (
    select
        month_parts.start_month,
        month_parts.dataset,
        month_parts.synthetic,
        month_parts.rtt_basis,
        month_parts.sample_basis,
        added_up.access_technology,
        proximity_names.class_name as proximity_class,
        added_up.country,
        transfer_size_names.class_name as transfer_size_class,
        added_up.ip_version,
        cast(added_up.bin_index as bigint) as bin_index,
        {{ bin_lower_us('added_up.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('added_up.bin_index') }} as bin_upper_us,
        added_up.connections,
        true as is_upper_bound
    from added_up
    inner join month_parts on added_up.month_part_mark = month_parts.month_part_mark
    inner join class_names as proximity_names
        on
            proximity_names.class_kind = 'proximity'
            and added_up.proximity_number = proximity_names.class_number
    inner join class_names as transfer_size_names
        on
            transfer_size_names.class_kind = 'transfer_size'
            and added_up.transfer_size_number = transfer_size_names.class_number
)

select * from final
