with

{{ parts_to_make('month_part_mark', of='connections_with_host') }},

final as (
    select
        parts.month_part_mark,
        host_days.asn,
        host_days.country,
        host_days.access_technology,
        host_days.client_host_key,
        cast(sum(host_days.connections) as bigint) as connections,
        max(host_days.maximum_queuing_delay_us) as maximum_queuing_delay_us,
        cast(sum(host_days.connections_above_1) as bigint) as connections_above_1,
        cast(sum(host_days.connections_above_2) as bigint) as connections_above_2,
        cast(sum(host_days.connections_above_3) as bigint) as connections_above_3
    from {{ ref('int_host_day') }} as host_days
    inner join parts on host_days.part_mark = parts.part_mark
    group by
        parts.month_part_mark,
        host_days.asn,
        host_days.country,
        host_days.access_technology,
        host_days.client_host_key
)

select * from final
