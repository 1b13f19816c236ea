with

samples as (
    select * from {{ ref('stg_lake__passive_rtt') }}
),

source_days as (
    select
        source_hash,
        decoder_version,
        dataset,
        synthetic,
        {{ utc_date('hour_start_ns') }} as start_date,
        count(*) as host_hours
    from samples
    group by source_hash, decoder_version, dataset, synthetic, {{ utc_date('hour_start_ns') }}
),

-- A sum does not depend on order, so the same sources give the same fingerprint. Terms are shifted right so that the sum does not overflow.
added_up as (
    select
        start_date,
        dataset,
        synthetic,
        cast(sum({{ shift_right(key_hash('source_hash, decoder_version, host_hours'), 23) }}) as bigint) as inputs_fingerprint
    from source_days
    group by start_date, dataset, synthetic
),

final as (
    select
        {{ key_hash('start_date, dataset, synthetic, inputs_fingerprint') }} as access_part_fingerprint,
        start_date,
        dataset,
        synthetic
    from added_up
)

select * from final
