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
        counters.poll_start_ns,
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
        cast(max(poll_start_ns) - min(poll_start_ns) as double) / 1000000 as polled_ms,
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

judged as (
    select
        *,
        not falls
        and {{ is_possible_growth(counted | reject('equalto', 'sent_bytes') | list, 'sent_bytes', 'polled_ms') }} as is_possible
    from summarised
),

final as (
    select
        judged.study_id,
        judged.run_id,
        judged.device,
        judged.handle,
        judged.part_number,
        judged.part_name,
        judged.kind,
        judged.diffserv_mode,
        judged.shaper_rate_bps,
        judged.polls,
        {%- for column in counted %}
            case
                when judged.is_possible then judged.{{ column }}
            end as {{ 'arrived_in_part_packets' if column == 'enqueued_packets' else column }},
        {%- endfor %}
        case
            when judged.is_possible and judged.ecn_marked_packets <= judged.sent_packets
                then cast(judged.ecn_marked_packets as double) / nullif(judged.sent_packets, 0)
        end as marked_ratio,
        cast(judged.peak_delay_us as double) / 1000 as peak_delay_ms,
        judged.mean_delay_us / 1000 as mean_delay_ms,
        cast(judged.base_delay_us as double) / 1000 as base_delay_ms,
        cast(judged.target_us as double) / 1000 as control_target_ms,
        judged.threshold_rate_bps,
        judged.max_bulk_flows,
        judged.max_sparse_flows,
        judged.max_unresponsive_flows
    from judged
)

select * from final
