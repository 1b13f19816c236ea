with

{{ parts_to_make('month_part_fingerprint', of='connections_with_host') }},

host_months as (
    select * from {{ ref('int_host_month') }}
),

month_parts as (
    select distinct month_part_fingerprint from parts
),

host_months_to_make as (
    select host_months.*
    from host_months
    inner join month_parts on host_months.month_part_fingerprint = month_parts.month_part_fingerprint
),

{{ counts_of_hosts('host_months_to_make', 'month_part_fingerprint') }},

final as (
    select * from counts_of_hosts
)

select * from final
