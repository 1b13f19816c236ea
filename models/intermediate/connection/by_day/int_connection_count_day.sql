with

{{ connections_of_days_to_make() }},

final as (
    select
        part_fingerprint,
        outcome,
        count(*) as connections,
        count(client_host_key) as connections_with_host
    from connections
    group by part_fingerprint, outcome
)

select * from final
