{%- set counted = [
    'sent_packets', 'sent_bytes', 'enqueued_packets', 'dropped_packets', 'ecn_marked_packets', 'dropped_acknowledgements'
] -%}
-- CAKE tins and DualPI2 queues of a run, from polls of their counters.
with

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        measurement = 'queue_counters'
        and status in ('ok', 'partial')
),

parts as (
    select * from {{ ref('stg_lake__queue_counter_part') }}
),

counters as (
    select * from {{ ref('stg_lake__queue_counter') }}
),

polled as (
    select
        run_sources.study_id,
        run_sources.run_id,
        parts.*,
        counters.kind,
        counters.diffserv_mode,
        counters.shaper_rate_bps,
        {{ places_of_polls('parts', ['device', 'handle', 'part_number']) }},
        {{ any_counter_falls('parts', counted, ['device', 'handle', 'part_number']) }} as falls
    from parts
    inner join run_sources
        on parts.source_hash = run_sources.measurement_hash
    inner join counters
        on
            parts.source_hash = counters.source_hash
            and parts.poll_index = counters.poll_index
            and parts.device = counters.device
            and parts.handle = counters.handle
),

summarised as (
    select
        study_id,
        run_id,
        device,
        handle,
        part_number,
        max(part_name) as part_name,
        max(kind) as kind,
        max(diffserv_mode) as diffserv_mode,
        max(case when place_from_end = 1 then shaper_rate_bps end) as shaper_rate_bps,
        count(*) as polls,
        max(case when falls then 1 else 0 end) = 1 as falls,
        {%- for column in counted %}
            {{ growth_between_polls(column) }} as {{ column }},
        {%- endfor %}
        max(peak_delay_us) as peak_delay_us,
        {{ ordered_mean('cast(coalesce(mean_delay_us, queue_delay_us) as double)') }} as mean_delay_us,
        min(base_delay_us) as base_delay_us,
        max(case when place_from_end = 1 then target_us end) as target_us,
        max(case when place_from_end = 1 then threshold_rate_bps end) as threshold_rate_bps,
        max(bulk_flows) as max_bulk_flows,
        max(sparse_flows) as max_sparse_flows,
        max(unresponsive_flows) as max_unresponsive_flows
    from polled
    group by study_id, run_id, device, handle, part_number
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.device,
        summarised.handle,
        summarised.part_number,
        summarised.part_name,
        summarised.kind,
        summarised.diffserv_mode,
        summarised.shaper_rate_bps,
        summarised.polls,
        {%- for column in counted %}
            case
                when not summarised.falls then summarised.{{ column }}
            end as {{ 'arrived_in_part_packets' if column == 'enqueued_packets' else column }},
        {%- endfor %}
        case
            when not summarised.falls and summarised.ecn_marked_packets <= summarised.sent_packets
                then cast(summarised.ecn_marked_packets as double) / nullif(summarised.sent_packets, 0)
        end as marked_ratio,
        cast(summarised.peak_delay_us as double) / 1000 as peak_delay_ms,
        summarised.mean_delay_us / 1000 as mean_delay_ms,
        cast(summarised.base_delay_us as double) / 1000 as base_delay_ms,
        cast(summarised.target_us as double) / 1000 as control_target_ms,
        summarised.threshold_rate_bps,
        summarised.max_bulk_flows,
        summarised.max_sparse_flows,
        summarised.max_unresponsive_flows
    from summarised
)

select * from final
