with

months as (
    select * from {{ ref('int_connection_month') }}
    {% if is_incremental() %}
        where start_month not in (select made.start_month from {{ this }} as made)
    {% endif %}
),

days as (
    select
        days_of_month.start_date,
        months.start_month,
        months.inputs_mark
    from {{ ref('int_connection_day') }} as days_of_month
    inner join months on days_of_month.start_month = months.start_month
),

host_days as (
    select * from {{ ref('int_host_day') }}
),

final as (
    select
        days.start_month,
        host_days.dataset,
        host_days.synthetic,
        host_days.rtt_basis,
        host_days.sample_basis,
        host_days.asn,
        host_days.country,
        host_days.access_technology,
        host_days.client_host_key,
        days.inputs_mark,
        cast(sum(host_days.connections) as bigint) as connections,
        max(host_days.maximum_queuing_delay_us) as maximum_queuing_delay_us,
        cast(sum(host_days.connections_above_1) as bigint) as connections_above_1,
        cast(sum(host_days.connections_above_2) as bigint) as connections_above_2,
        cast(sum(host_days.connections_above_3) as bigint) as connections_above_3
    from host_days
    inner join days on host_days.start_date = days.start_date
    group by
        days.start_month,
        host_days.dataset,
        host_days.synthetic,
        host_days.rtt_basis,
        host_days.sample_basis,
        host_days.asn,
        host_days.country,
        host_days.access_technology,
        host_days.client_host_key,
        days.inputs_mark
)

select * from final
