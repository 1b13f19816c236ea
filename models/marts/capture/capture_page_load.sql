with

page_loads as (
    select * from {{ ref('int_capture_page_load') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
    where qoe_model_id = 'g1030-one-page-flows'
),

page as (
    select
        max(case when parameter = 'round_trips' then parameter_value end) as round_trips,
        max(case when parameter = 'round_trips_dominate' then parameter_value end) as dominating_ratio
    from parameters
),

shared as (
    select
        page_loads.*,
        page.round_trips,
        page.dominating_ratio,
        page.round_trips * page_loads.handshake_rtt_ms / nullif(page_loads.page_load_time_ms, 0) as round_trip_ratio
    from page_loads
    cross join page
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
        retransmitted_packets,
        cast(round_trips as bigint) as round_trips,
        round_trip_ratio,
        case
            when round_trip_ratio >= dominating_ratio then 'round trips'
            when round_trip_ratio is not null then 'losses and rate'
        end as dominated_by,
        case
            when load_null_reason is not null then load_null_reason
            when round_trip_ratio is null then 'no handshake was seen whole'
        end as round_trip_null_reason
    from shared
)

select * from final
