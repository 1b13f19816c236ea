with

{{ parts_to_make(of='connections_with_host') }},

host_days as (
    select host_days_of_part.*
    from {{ ref('int_host_day') }} as host_days_of_part
    inner join parts on host_days_of_part.part_fingerprint = parts.part_fingerprint
),

{{ counts_of_hosts('host_days', 'part_fingerprint') }},

final as (
    select * from counts_of_hosts
)

select * from final
