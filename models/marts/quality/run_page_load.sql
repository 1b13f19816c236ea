-- Share of round trips in a page load, from the round-trip time of its run under load or from its own handshakes. A request waits in the
-- queue of one direction and its answer in the queue of the other, so a round trip includes both.
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

opposite_delays as (
    select * from {{ ref('int_run_opposite_delay') }}
),

known_pages as (
    select * from {{ ref('page_round_trips') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
    where qoe_model_id = 'g1030-one-page-flows'
),

page as (
    {{ page_of_parameters() }}
),

-- Handshakes in the run's captures pass both queues.
handshakes as (
    select
        study_id,
        run_id,
        cast(sum(cast(round(handshake_rtt_ms * 1000) as bigint)) as double) / count(handshake_rtt_ms) / 1000 as handshake_rtt_mean_ms
    from page_loads
    where handshake_rtt_ms is not null
    group by study_id, run_id
),

-- A measured load has no round-trip time, so it uses the run's.
delayed as (
    select
        page_loads.study_id,
        page_loads.run_id,
        page_loads.item,
        page_loads.load_basis,
        page_loads.page_load_time_ms,
        delays.mean_ms as queuing_delay_mean_ms,
        opposite_delays.opposite_queuing_delay_mean_ms,
        opposite_delays.opposite_delay_basis,
        case
            when page_loads.load_basis = 'measured' or ({{ is_known_page('page_loads', 'page') }}) then known_pages.round_trips
        end as round_trips,
        case
            when page_loads.load_basis != 'measured' then page_loads.handshake_rtt_ms
            else
                coalesce(
                    runs.rtt_ms + delays.mean_ms + opposite_delays.opposite_queuing_delay_mean_ms,
                    handshakes.handshake_rtt_mean_ms
                )
        end as loaded_rtt_ms,
        case
            when page_loads.load_basis != 'measured'
                then case when page_loads.handshake_rtt_ms is not null then 'handshakes_of_the_load' end
            when runs.rtt_ms + delays.mean_ms + opposite_delays.opposite_queuing_delay_mean_ms is not null then 'queues_of_both_directions'
            when handshakes.handshake_rtt_mean_ms is not null then 'handshakes_of_the_run'
        end as loaded_rtt_basis,
        case
            when page_loads.load_basis != 'measured' then 'no handshake was seen whole'
            when runs.rtt_ms is null or delays.mean_ms is null then 'no round-trip time or no queuing delay of the application'
            else 'the queue of the other direction was not measured'
        end as rtt_null_reason,
        page.dominating_ratio
    from page_loads
    cross join page
    inner join runs
        on
            page_loads.study_id = runs.study_id
            and page_loads.run_id = runs.run_id
    left join delays
        on
            page_loads.study_id = delays.study_id
            and page_loads.run_id = delays.run_id
    left join opposite_delays
        on
            page_loads.study_id = opposite_delays.study_id
            and page_loads.run_id = opposite_delays.run_id
    left join handshakes
        on
            page_loads.study_id = handshakes.study_id
            and page_loads.run_id = handshakes.run_id
    left join known_pages
        on
            runs.study_id = known_pages.study_id
            and lower(runs.application) = known_pages.application
),

final as (
    select
        delayed.study_id,
        delayed.run_id,
        delayed.item,
        delayed.load_basis,
        delayed.page_load_time_ms,
        cast(delayed.round_trips as bigint) as round_trips,
        delayed.queuing_delay_mean_ms,
        delayed.opposite_queuing_delay_mean_ms,
        delayed.opposite_delay_basis,
        delayed.loaded_rtt_ms,
        delayed.loaded_rtt_basis,
        {{ round_trip_columns('delayed', 'delayed.dominating_ratio') }}
    from delayed
)

select * from final
