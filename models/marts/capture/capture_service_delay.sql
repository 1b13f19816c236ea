with

delay_bins as (
    select * from {{ ref('int_capture_delay_bin') }}
),

{{ quantiles_of_bins('delay_bins', ['dataset', 'service', 'leg', 'delay_kind']) }},

final as (
    select
        dataset,
        service,
        leg,
        delay_kind,
        connections,
        p05_ms,
        p25_ms,
        median_ms,
        p75_ms,
        p95_ms,
        delay_kind = 'queuing_delay' as is_upper_bound
    from quantiles
)

select * from final
