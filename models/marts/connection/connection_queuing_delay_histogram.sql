with

cells as (
    select * from {{ ref('int_queuing_delay_day') }}
),

proximity_classes as (
    select * from {{ ref('proximity_class') }}
),

transfer_size_classes as (
    select * from {{ ref('transfer_size_class') }}
),

final as (
    select
        cells.start_date,
        cells.dataset,
        cells.synthetic,
        cells.rtt_basis,
        cells.sample_basis,
        cells.detail_level,
        cells.access_technology,
        case
            when cells.proximity_number = -1 then 'withheld'
            else concat(proximity_classes.proximity_class, '@', cast(proximity_classes.class_version as string))
        end as proximity_class,
        cells.country,
        case
            when cells.transfer_size_number = -1 then 'withheld'
            when cells.transfer_size_number = 0 then 'unknown'
            else concat(transfer_size_classes.transfer_size_class, '@', cast(transfer_size_classes.class_version as string))
        end as transfer_size_class,
        cells.ip_version,
        cast(cells.bin_index as bigint) as bin_index,
        {{ month_of('cells.start_date') }} as start_month,
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.connections,
        true as is_upper_bound
    from cells
    left join proximity_classes on cells.proximity_number = proximity_classes.class_number
    left join transfer_size_classes on cells.transfer_size_number = transfer_size_classes.class_number
    where cells.bin_index is not null
)

select * from final
