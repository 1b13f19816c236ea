with

{{ cells_rolled_up(
    ref('int_queuing_delay_month'), 'month_part_fingerprint', ['access_technology', 'proximity_number', 'transfer_size_number']
) }},

final as (
    select * from rolled_up
)

select * from final
