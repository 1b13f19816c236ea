with

connections as (
    select * from {{ ref('int_connection_drawn_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

class_names as (
    select * from {{ ref('int_connection_class_name') }}
),

final as (
    select
        parts.start_date,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        connections.drawn_number,
        connections.detail_level,
        connections.access_technology,
        proximity_names.class_name as proximity_class,
        connections.country,
        transfer_size_names.class_name as transfer_size_class,
        connections.ip_version,
        cast(connections.rtt_min_us as double) / 1000 as rtt_min_ms,
        cast(connections.rtt_mean_us as double) / 1000 as rtt_mean_ms,
        cast(connections.rtt_max_us as double) / 1000 as rtt_max_ms,
        cast(connections.rtt_max_us - connections.rtt_min_us as double) / 1000 as queuing_delay_ms,
        true as is_upper_bound,
        1 / cast(connections.drawn_one_in as double) as drawn_ratio
    from connections
    inner join parts on connections.part_fingerprint = parts.part_fingerprint
    inner join class_names as proximity_names
        on
            proximity_names.class_kind = 'proximity'
            and connections.proximity_number = proximity_names.class_number
    inner join class_names as transfer_size_names
        on
            transfer_size_names.class_kind = 'transfer_size'
            and connections.transfer_size_number = transfer_size_names.class_number
)

select * from final
