-- Fingerprints are hashes: two parts with the same fingerprint would be counted as one.
with

parts as (
    select * from {{ ref('int_connection_part') }}
),

fingerprints as (
    select
        part_fingerprint,
        cast(start_date as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts

    union

    select
        month_part_fingerprint as part_fingerprint,
        cast(start_month as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts

    union

    select
        whole_part_fingerprint as part_fingerprint,
        'all' as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from parts
)

select
    part_fingerprint,
    count(*) as parts_under_this_mark
from fingerprints
group by part_fingerprint
having count(*) > 1
