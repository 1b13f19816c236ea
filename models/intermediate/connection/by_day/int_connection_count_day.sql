with

{{ connections_of_days_to_make() }},

final as (
    select
        part_mark,
        outcome,
        count(*) as connections
    from connections
    group by part_mark, outcome
)

select * from final
