with

cells as (
    select * from {{ ref('int_queuing_delay_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

-- Sums of what the cube serves, so they say nothing of small cells that it does not.
added_up as (
    select
        part_mark,
        country,
        ip_version,
        bin_index,
        cast(sum(connections) as bigint) as connections
    from cells
    where bin_index is not null
    group by part_mark, country, ip_version, bin_index
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        added_up.country,
        added_up.ip_version,
        cast(added_up.bin_index as bigint) as bin_index,
        parts.start_month,
        {{ bin_lower_us('added_up.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('added_up.bin_index') }} as bin_upper_us,
        added_up.connections,
        true as is_upper_bound
    from added_up
    inner join parts on added_up.part_mark = parts.part_mark
)

select * from final
