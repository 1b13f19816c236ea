with

{{ connections_of_days_to_make() }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        {{ integer_divide(log_linear_bin('rtt_min_us'), 8) }} as min_bin_index,
        {{ integer_divide(log_linear_bin('rtt_max_us'), 8) }} as max_bin_index,
        inputs_mark,
        count(*) as connections
    from connections
    where outcome = 'counted'
    group by start_date, dataset, synthetic, rtt_basis, sample_basis, min_bin_index, max_bin_index, inputs_mark
)

select * from final
