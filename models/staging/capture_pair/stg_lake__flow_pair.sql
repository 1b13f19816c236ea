with

source as (
    select * from {{ source('lake', 'flow_pair') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_number,
        protocol,
        source_host_key,
        source_prefix_key,
        source_port,
        destination_host_key,
        destination_prefix_key,
        destination_port,
        sent_packets,
        delivered_packets,
        dropped_packets,
        in_flight_at_end_packets,
        not_seen_before_packets,
        queuing_delay_min_us,
        queuing_delay_avg_us,
        queuing_delay_max_us
    from source
)

select * from final
