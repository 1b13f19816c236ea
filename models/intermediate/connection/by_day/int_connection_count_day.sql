with

{{ connections_of_days_to_make() }},

final as (
    select
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        outcome,
        inputs_mark,
        count(*) as connections
    from connections
    group by start_date, dataset, synthetic, rtt_basis, sample_basis, outcome, inputs_mark
)

select * from final
