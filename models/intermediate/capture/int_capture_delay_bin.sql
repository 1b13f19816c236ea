with

connections as (
    select * from {{ ref('int_capture_leg') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

started as (
    select
        connections.*,
        {{ utc_date('connections.start_ns') }} as start_date,
        10 * {{ integer_divide(integer_divide('connections.start_ns', 1000000000) ~ ' - totals.first_second', 10) }} as second
    from connections
    inner join totals on connections.source_hash = totals.source_hash
),

delays as (
    {{ delays_by_kind('started', ['dataset', 'source_hash', 'service', 'start_date', 'second']) }}
),

final as (
    select
        dataset,
        source_hash,
        service,
        leg,
        delay_kind,
        start_date,
        second,
        {{ log_linear_bin('delay_us') }} as bin_index,
        count(*) as connections
    from delays
    group by dataset, source_hash, service, leg, delay_kind, start_date, second, bin_index
)

select * from final
