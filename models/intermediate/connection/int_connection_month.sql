with

days as (
    select * from {{ ref('int_connection_day') }}
),

final as (
    select
        start_month,
        cast(sum({{ shift_right(key_hash('start_date, inputs_fingerprint'), 23) }}) as bigint) as inputs_fingerprint
    from days
    group by start_month
)

select * from final
