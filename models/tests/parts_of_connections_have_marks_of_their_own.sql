-- Marks are hashes: two parts under one mark would be counted as one.
with

parts as (
    select * from {{ ref('int_connection_part') }}
),

marks as (
    select
        part_mark,
        cast(start_date as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts

    union

    select
        month_part_mark as part_mark,
        cast(start_month as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts

    union

    select
        whole_part_mark as part_mark,
        'all' as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts
)

select
    part_mark,
    count(*) as parts_under_this_mark
from marks
group by part_mark
having count(*) > 1
