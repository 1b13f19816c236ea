with

months as (
    select * from {{ ref('connection_queuing_delay_month_histogram') }}
),

-- Sums of what the cube serves, so they say nothing of small cells that it does not.
added_up as (
    select
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        proximity_class,
        transfer_size_class,
        bin_index,
        cast(sum(connections) as bigint) as connections
    from months
    group by
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        proximity_class,
        transfer_size_class,
        bin_index
),

final as (
    select
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        proximity_class,
        transfer_size_class,
        bin_index,
        {{ bin_lower_us('bin_index') }} as bin_lower_us,
        {{ bin_upper_us('bin_index') }} as bin_upper_us,
        connections,
        true as is_upper_bound
    from added_up
)

select * from final
