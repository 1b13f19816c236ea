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

-- Sums of what the cube serves, so they say nothing of small cells that it does not.
added_up as (
    select
        part_mark,
        access_technology,
        proximity_number,
        transfer_size_number,
        bin_index,
        cast(sum(connections) as bigint) as connections
    from cells
    where bin_index is not null
    group by part_mark, access_technology, proximity_number, transfer_size_number, bin_index
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        added_up.access_technology,
        proximity_names.class_name as proximity_class,
        transfer_size_names.class_name as transfer_size_class,
        cast(added_up.bin_index as bigint) as bin_index,
        parts.start_month,
        {{ bin_lower_us('added_up.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('added_up.bin_index') }} as bin_upper_us,
        added_up.connections,
        true as is_upper_bound
    from added_up
    inner join parts on added_up.part_mark = parts.part_mark
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
