with

delay_bins as (
    select * from {{ ref('int_capture_delay_bin') }}
),

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

{{ quantiles_of_bins('delay_bins', ['source_hash', 'service', 'leg', 'delay_kind', 'second']) }},

final as (
    select
        recordings.dataset,
        quantiles.source_hash,
        quantiles.service,
        quantiles.leg,
        quantiles.delay_kind,
        quantiles.second,
        recordings.recording_name,
        quantiles.connections,
        quantiles.p05_ms,
        quantiles.p25_ms,
        quantiles.median_ms,
        quantiles.p75_ms,
        quantiles.p95_ms,
        quantiles.delay_kind = 'queuing_delay' as is_upper_bound
    from quantiles
    inner join recordings on quantiles.source_hash = recordings.source_hash
)

select * from final
