with

connections as (
    select * from {{ ref('int_connection_drawn_day') }}
),

parts as (
    select * from {{ ref('int_connection_part') }}
),

class_names as (
    select * from {{ ref('int_connection_class_name') }}
    where class_kind = 'transfer_size'
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
        case when connections.hour_of_day >= 0 then connections.hour_of_day end as hour_of_day,
        connections.access_technology,
        connections.country,
        connections.asn,
        connections.ip_version,
        class_names.class_name as transfer_size_class,
        connections.sent_bytes,
        cast(connections.rtt_min_us as double) / 1000 as rtt_min_ms,
        cast(connections.rtt_mean_us as double) / 1000 as rtt_mean_ms,
        cast(connections.rtt_max_us as double) / 1000 as rtt_max_ms,
        cast(connections.rtt_max_us - connections.rtt_min_us as double) / 1000 as queuing_delay_ms,
        true as is_upper_bound,
        1 / cast(connections.drawn_one_in as double) as drawn_ratio
    from connections
    inner join parts on connections.part_fingerprint = parts.part_fingerprint
    inner join class_names on connections.transfer_size_number = class_names.class_number
)

select * from final
