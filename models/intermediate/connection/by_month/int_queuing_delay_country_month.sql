with

{{ cells_rolled_up(ref('int_queuing_delay_month'), 'month_part_fingerprint', ['country', 'access_technology', 'ip_version']) }},

final as (
    select * from rolled_up
)

select * from final
