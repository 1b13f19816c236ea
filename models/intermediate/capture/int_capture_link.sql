with

links as (
    select * from {{ ref('stg_lake__capture_link') }}
),

ranked as (
    select
        *,
        row_number() over (
            partition by source_hash
            order by records desc, link_type asc
        ) as place,
        count(*) over (partition by source_hash) as link_types
    from links
),

final as (
    select
        source_hash,
        link_type,
        link_type_name,
        link_types
    from ranked
    where place = 1
)

select * from final
