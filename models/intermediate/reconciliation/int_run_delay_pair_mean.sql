-- Both means cover the same packets of declared flows: packets that only one source saw would make the means differ.
with

delay_pairs as (
    select * from {{ ref('int_packet_delay_pair') }}
    where
        difference_ns is not null
        and role in {{ declared_roles() }}
),

final as (
    select
        study_id,
        run_id,
        count(*) as packets,
        cast(sum(sojourn_ns) as double) / count(*) / 1000000 as sojourn_mean_ms,
        cast(sum(queuing_delay_ns) as double) / count(*) / 1000000 as queuing_delay_mean_ms
    from delay_pairs
    group by study_id, run_id
)

select * from final
