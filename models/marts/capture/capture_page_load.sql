with

page_loads as (
    select * from {{ ref('int_capture_page_load') }}
),

final as (
    select
        dataset,
        source_hash,
        load_number,
        recording_name,
        {{ utc_date('start_ns') }} as start_date,
        start_ns as first_packet_ns,
        'estimated_from_flows' as load_basis,
        page_load_time_ms,
        resolution_ms,
        load_null_reason,
        connections,
        answer_bytes,
        handshake_rtt_ms as loaded_rtt_ms,
        retransmitted_packets
    from page_loads
)

select * from final
