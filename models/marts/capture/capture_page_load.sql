with

page_loads as (
    select * from {{ ref('int_capture_page_load') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
    where qoe_model_id = 'g1030-one-page-flows'
),

page as (
    {{ page_of_parameters() }}
),

shared as (
    select
        page_loads.*,
        page_loads.handshake_rtt_ms as loaded_rtt_ms,
        case when {{ is_known_page('page_loads', 'page') }} then page.round_trips end as round_trips,
        page.dominating_ratio,
        'no handshake was seen whole' as rtt_null_reason
    from page_loads
    cross join page
),

judged as (
    select
        shared.*,
        {{ round_trip_columns('shared', 'shared.dominating_ratio') }}
    from shared
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
        loaded_rtt_ms,
        retransmitted_packets,
        cast(round_trips as bigint) as round_trips,
        round_trip_ratio,
        dominated_by,
        coalesce(load_null_reason, round_trip_null_reason) as round_trip_null_reason
    from judged
)

select * from final
