with

recordings as (
    select * from {{ ref('int_capture_recording') }}
),

links as (
    select * from {{ ref('int_capture_link') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

final as (
    select
        recordings.dataset,
        recordings.source_hash,
        recordings.recording_name,
        recordings.study_id,
        recordings.run_id,
        recordings.measurement,
        recordings.status,
        recordings.reason,
        recordings.compression,
        recordings.size_bytes,
        links.link_type,
        links.link_type_name,
        coalesce(links.link_types, 0) as link_types,
        {{ utc_date('totals.first_packet_ns') }} as start_date,
        totals.first_packet_ns,
        totals.last_packet_ns,
        cast(totals.last_packet_ns - totals.first_packet_ns as double) / 1000000 as duration_ms,
        coalesce(totals.packets, 0) as packets,
        coalesce(totals.bytes, 0) as bytes,
        coalesce(totals.flows, 0) as flows,
        coalesce(totals.tcp_flows, 0) as tcp_flows,
        coalesce(totals.udp_flows, 0) as udp_flows,
        recordings.records_read,
        recordings.records_refused,
        recordings.refused_by_reason,
        recordings.is_repeated
    from recordings
    left join totals on recordings.source_hash = totals.source_hash
    left join links on recordings.source_hash = links.source_hash
)

select * from final
