{%- set source_part = ['source_hash', 'decoder_version', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis', 'connections'] -%}
with

source_days as (
    select * from {{ ref('int_connection_source_day') }}
),

-- A sum does not depend on order, so the same sources give the same fingerprint. Terms are shifted right so that the sum does not overflow.
final as (
    select
        start_date,
        {{ month_of('start_date') }} as start_month,
        cast(sum({{ shift_right(key_hash(source_part | join(', ')), 23) }}) as bigint) as inputs_fingerprint,
        cast(sum(connections) as bigint) as connections
    from source_days
    group by start_date
)

select * from final
