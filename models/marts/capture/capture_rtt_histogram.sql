with

delay_bins as (
    select * from {{ ref('int_capture_delay_bin') }}
    where delay_kind != 'queuing_delay'
),

final as (
    select
        dataset,
        service,
        leg,
        case delay_kind when 'smoothed_rtt' then 'smoothed' else 'handshake' end as rtt_basis,
        start_date,
        bin_index,
        {{ bin_lower_us('bin_index') }} as bin_lower_us,
        {{ bin_upper_us('bin_index') }} as bin_upper_us,
        cast(sum(connections) as bigint) as connections
    from delay_bins
    group by dataset, service, leg, delay_kind, start_date, bin_index
)

select * from final
