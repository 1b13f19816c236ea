-- ECN marks in the two captures of a run, by direction. A mark made on the path between them is in the capture that packets reach later,
-- but not in the earlier one. The receiver's echo is read from the capture on the sender's side.
{%- set scopes = [
    ('all', 'true'), ('declared', 'is_declared'), ('declared_tcp', 'is_declared and is_tcp'), ('tcp', 'is_tcp')
] %}

with

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
),

ecn_directions as (
    select * from {{ ref('stg_lake__flow_ecn') }}
),

ecn_intervals as (
    select * from {{ ref('stg_lake__flow_ecn_interval') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

placed as (
    select
        flow_directions.study_id,
        flow_directions.run_id,
        flow_directions.source_hash,
        flow_directions.flow_id,
        flow_directions.direction,
        flow_directions.role,
        case when flow_directions.is_data_direction then 'data' else 'return' end as mark_direction,
        (flow_directions.measurement = 'capture_after') = flow_directions.is_data_direction as is_later,
        flow_directions.role in {{ declared_roles() }} as is_declared,
        coalesce(flow_directions.protocol = 'tcp', false) as is_tcp
    from flow_directions
),

described as (
    select
        placed.study_id,
        placed.run_id,
        placed.mark_direction,
        placed.role,
        placed.is_later,
        placed.is_declared,
        placed.is_tcp,
        ecn_directions.ecn_mode,
        ecn_directions.ect0_packets,
        ecn_directions.ect1_packets,
        ecn_directions.ce_packets,
        -- A classic receiver repeats its echo until the sender responds, so a run of echoes stands for one mark or more.
        case
            when ecn_directions.ecn_mode = 'classic' then coalesce(ecn_directions.echo_runs, 0)
            when ecn_directions.ecn_mode = 'accurate' then ecn_directions.echoed_ce_packets_min
            else 0
        end as echoed_least,
        case
            when ecn_directions.ecn_mode = 'classic' and ecn_directions.echo_runs > 0 then null
            when ecn_directions.ecn_mode = 'accurate' then ecn_directions.echoed_ce_packets_max
            else 0
        end as echoed_most
    from placed
    inner join ecn_directions
        on
            placed.source_hash = ecn_directions.source_hash
            and placed.flow_id = ecn_directions.flow_id
            and placed.direction = ecn_directions.direction
),

-- An interval during which a poll ran may contain marks from before and after the poll.
spanned as (
    select
        placed.study_id,
        placed.run_id,
        placed.mark_direction,
        cast(
            sum(
                case
                    when
                        ecn_intervals.interval_start_ns >= counter_spans.first_poll_end_ns
                        and ecn_intervals.interval_start_ns + ecn_intervals.interval_ms * 1000000 <= counter_spans.last_poll_start_ns
                        then ecn_intervals.ce_packets
                    else 0
                end
            ) as bigint
        ) as surely_polled_ce_packets,
        cast(
            sum(
                case
                    when
                        ecn_intervals.interval_start_ns + ecn_intervals.interval_ms * 1000000 > counter_spans.first_poll_start_ns
                        and ecn_intervals.interval_start_ns <= counter_spans.last_poll_end_ns
                        then ecn_intervals.ce_packets
                    else 0
                end
            ) as bigint
        ) as perhaps_polled_ce_packets
    from placed
    inner join ecn_intervals
        on
            placed.source_hash = ecn_intervals.source_hash
            and placed.flow_id = ecn_intervals.flow_id
            and placed.direction = ecn_intervals.direction
    inner join counter_spans
        on
            placed.study_id = counter_spans.study_id
            and placed.run_id = counter_spans.run_id
    where placed.is_later
    group by placed.study_id, placed.run_id, placed.mark_direction
),

summed as (
    select
        study_id,
        run_id,
        mark_direction,
        {%- for scope, condition in scopes %}
            cast(sum(case when {{ condition }} and not is_later then ce_packets else 0 end) as bigint) as {{ scope }}_earlier_ce_packets,
            cast(sum(case when {{ condition }} and is_later then ce_packets else 0 end) as bigint) as {{ scope }}_later_ce_packets,
        {%- endfor %}
        {%- for scope, condition in [('declared_tcp', 'is_declared and is_tcp'), ('tcp', 'is_tcp')] %}
            cast(sum(case when {{ condition }} and not is_later then echoed_least end) as bigint) as {{ scope }}_echoed_least,
            cast(sum(case when {{ condition }} and not is_later then echoed_most end) as bigint) as {{ scope }}_echoed_known_most,
            count(case when {{ condition }} and not is_later and echoed_most is null then 1 end) as {{ scope }}_echoes_without_end,
            count(case when {{ condition }} and not is_later and echoed_least is null then 1 end) as {{ scope }}_unread_echoes,
        {%- endfor %}
        max(case when role = 'app' then ecn_mode end) as app_ecn_mode,
        max(case when role = 'tcp' then ecn_mode end) as tcp_ecn_mode,
        cast(sum(case when is_later then ect0_packets else 0 end) as bigint) as ect0_packets,
        cast(sum(case when is_later then ect1_packets else 0 end) as bigint) as ect1_packets,
        cast(sum(case when is_later then ce_packets else 0 end) as bigint) as ce_packets,
        cast(sum(ect0_packets + ect1_packets + ce_packets) as bigint) as ecn_capable_packets
    from described
    group by study_id, run_id, mark_direction
),

final as (
    select
        summed.study_id,
        summed.run_id,
        summed.mark_direction,
        summed.app_ecn_mode,
        summed.tcp_ecn_mode,
        summed.ect0_packets,
        summed.ect1_packets,
        summed.ce_packets,
        -- Packets that arrived with CE may have been dropped between the captures, hence the range.
        {%- for scope in ['all', 'declared', 'declared_tcp'] %}
            greatest(summed.{{ scope }}_later_ce_packets - summed.{{ scope }}_earlier_ce_packets, 0) as {{ scope }}_least_packets,
            summed.{{ scope }}_later_ce_packets as {{ scope }}_most_packets,
        {%- endfor %}
        greatest(coalesce(spanned.surely_polled_ce_packets, 0) - summed.all_earlier_ce_packets, 0) as polled_least_packets,
        coalesce(spanned.perhaps_polled_ce_packets, 0) as polled_most_packets,
        coalesce(spanned.surely_polled_ce_packets, 0) = summed.all_later_ce_packets as polls_hold_every_mark,
        summed.all_later_ce_packets - summed.tcp_later_ce_packets as other_ce_packets,
        {%- for scope in ['declared_tcp', 'tcp'] %}
            case when summed.{{ scope }}_unread_echoes = 0 then summed.{{ scope }}_echoed_least end as {{ scope }}_echoed_least_packets,
            case when summed.{{ scope }}_echoes_without_end = 0 then summed.{{ scope }}_echoed_known_most end
                as {{ scope }}_echoed_most_packets,
            summed.{{ scope }}_unread_echoes,
        {%- endfor %}
        summed.ecn_capable_packets > 0 as has_ecn
    from summed
    left join spanned
        on
            summed.study_id = spanned.study_id
            and summed.run_id = spanned.run_id
            and summed.mark_direction = spanned.mark_direction
)

select * from final
