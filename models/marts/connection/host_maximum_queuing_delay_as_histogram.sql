with

cells as (
    select * from {{ ref('int_host_as_whole') }}
),

parts as (
    select distinct
        whole_part_fingerprint,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from {{ ref('int_connection_part') }}
),

final as (
    select
        'all' as period_kind,
        'all' as period,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        cells.detail_level,
        cells.access_technology,
        cells.country,
        cells.asn,
        cast(cells.bin_index as bigint) as bin_index,
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.hosts,
        true as is_upper_bound
    from cells
    inner join parts on cells.whole_part_fingerprint = parts.whole_part_fingerprint
    where cells.bin_index is not null
)

select * from final
