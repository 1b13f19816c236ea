-- What a page load consists of: the share of its round trips, by the round-trip time of its run under load, or of its own handshakes.
with

page_loads as (
    select * from {{ ref('int_page_load') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
    where role = 'app'
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
    where qoe_model_id = 'g1030-one-page-access'
),

page as (
    select
        max(case when parameter = 'round_trips' then parameter_value end) as round_trips,
        max(case when parameter = 'round_trips_dominate' then parameter_value end) as dominating_ratio
    from parameters
),

-- A measured load does not tell its round-trip time: that of its run stands for it.
delayed as (
    select
        page_loads.*,
        case page_loads.load_basis when 'measured' then runs.rtt_ms + delays.mean_ms else page_loads.handshake_rtt_ms end as loaded_rtt_ms
    from page_loads
    inner join runs
        on
            page_loads.study_id = runs.study_id
            and page_loads.run_id = runs.run_id
    left join delays
        on
            page_loads.study_id = delays.study_id
            and page_loads.run_id = delays.run_id
),

shared as (
    select
        delayed.study_id,
        delayed.run_id,
        delayed.item,
        delayed.load_basis,
        delayed.page_load_time_ms,
        delayed.loaded_rtt_ms,
        page.round_trips,
        page.dominating_ratio,
        page.round_trips * delayed.loaded_rtt_ms / delayed.page_load_time_ms as round_trip_ratio
    from delayed
    cross join page
),

final as (
    select
        shared.study_id,
        shared.run_id,
        shared.item,
        {{ run_dimensions('runs') }},
        shared.load_basis,
        shared.page_load_time_ms,
        cast(shared.round_trips as bigint) as round_trips,
        shared.loaded_rtt_ms,
        shared.round_trip_ratio,
        case
            when shared.round_trip_ratio >= shared.dominating_ratio then 'round trips'
            when shared.round_trip_ratio is not null then 'losses and rate'
        end as dominated_by,
        case
            when shared.round_trip_ratio is not null then null
            when shared.load_basis = 'measured' then 'no round-trip time or no queuing delay of the application'
            else 'no handshake was seen whole'
        end as round_trip_null_reason
    from shared
    inner join runs
        on
            shared.study_id = runs.study_id
            and shared.run_id = runs.run_id
)

select * from final
