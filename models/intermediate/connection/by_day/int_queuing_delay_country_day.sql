with

{{ cells_rolled_up(ref('int_queuing_delay_day'), 'part_fingerprint', ['country', 'ip_version']) }},

final as (
    select * from rolled_up
)

select * from final
