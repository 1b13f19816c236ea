with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
    where
        departs_in_window
        and flow_hash is not null
),

timed as (
    select
        *,
        case when fate = 'dequeued' then sojourn_ns end as delay_ns
    from packets
),

ranked as (
    select
        *,
        row_number() over (
            partition by study_id, run_id, flow_hash
            order by delay_ns asc nulls last, packet_index asc
        ) as delay_rank,
        count(delay_ns) over (partition by study_id, run_id, flow_hash) as delayed_packets
    from timed
),

flows as (
    select
        study_id,
        run_id,
        flow_hash,
        min(packet_index) as first_packet_index,
        min(role) as role,
        min(flow_number) as flow_number,
        min(protocol) as protocol,
        min(source_port) as source_port,
        min(destination_port) as destination_port,
        count(delay_ns) as packets,
        count(*) filter (where fate != 'dequeued') as dropped_packets,
        cast(sum(delay_ns) as double) / nullif(count(delay_ns), 0) / 1000000 as mean_ms,
        {%- for name, per_mille in (('median', 500), ('p95', 950), ('p99', 990)) %}
            cast(
                max(case when delay_rank = {{ percentile_rank(per_mille, 'delayed_packets') }} then delay_ns end) as double
            ) / 1000000 as {{ name }}_ms,
        {%- endfor %}
        cast(max(delay_ns) as double) / 1000000 as max_ms
    from ranked
    group by study_id, run_id, flow_hash
),

final as (
    select
        flows.study_id,
        flows.run_id,
        cast(
            row_number() over (
                partition by flows.study_id, flows.run_id
                order by flows.first_packet_index
            ) - 1 as bigint
        ) as queue_flow_number,
        flows.role,
        flows.flow_number,
        flows.protocol,
        flows.source_port,
        flows.destination_port,
        flows.packets,
        flows.dropped_packets,
        flows.mean_ms,
        flows.median_ms,
        flows.p95_ms,
        flows.p99_ms,
        flows.max_ms,
        reconciliations.reconciliation_verdict
    from flows
    left join reconciliations
        on
            flows.study_id = reconciliations.study_id
            and flows.run_id = reconciliations.run_id
)

select * from final
