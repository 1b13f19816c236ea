with

{{ cells_rolled_up(ref('int_rtt_day'), 'part_fingerprint', ['access_technology', 'rtt_statistic']) }},

final as (
    select * from rolled_up
)

select * from final
