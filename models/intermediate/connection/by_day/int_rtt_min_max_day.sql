with

{{ connections_of_days_to_make('connections') }},

final as (
    select
        part_fingerprint,
        {{ integer_divide(log_linear_bin('rtt_min_us'), 8) }} as min_bin_index,
        {{ integer_divide(log_linear_bin('rtt_max_us'), 8) }} as max_bin_index,
        count(*) as connections
    from connections
    where outcome = 'counted'
    group by part_fingerprint, min_bin_index, max_bin_index
)

select * from final
