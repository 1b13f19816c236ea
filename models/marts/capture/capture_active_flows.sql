-- Only seconds with a change have a row: a recording may last for weeks, and with damaged timestamps for decades.
with

flows as (
    select * from {{ ref('int_capture_flow') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

-- A capture of noise has packets of all 256 protocols, and each has a row for each moment.
protocols_by_flows as (
    select
        source_hash,
        protocol,
        row_number() over (
            partition by source_hash
            order by count(*) desc, protocol
        ) as place
    from flows
    group by source_hash, protocol
),

signs as (
    select 1 as flow_change

    union all

    select -1 as flow_change
),

spans as (
    select
        flows.dataset,
        flows.source_hash,
        flows.recording_name,
        case when protocols_by_flows.place <= 20 then flows.protocol else 'other' end as protocol,
        {{ integer_divide('flows.first_packet_ns', 1000000000) }} - totals.first_second as from_second,
        {{ integer_divide('flows.last_packet_ns', 1000000000) }} - totals.first_second + 1 as until_second
    from flows
    inner join totals on flows.source_hash = totals.source_hash
    inner join protocols_by_flows
        on
            flows.source_hash = protocols_by_flows.source_hash
            and flows.protocol = protocols_by_flows.protocol
),

edges as (
    select
        spans.dataset,
        spans.source_hash,
        spans.recording_name,
        spans.protocol,
        case signs.flow_change when 1 then spans.from_second else spans.until_second end as second,
        signs.flow_change
    from spans
    cross join signs
),

changes as (
    select
        dataset,
        source_hash,
        recording_name,
        protocol,
        second,
        sum(flow_change) as flow_change
    from edges
    group by dataset, source_hash, recording_name, protocol, second
    having sum(flow_change) != 0
),

protocols as (
    select distinct
        dataset,
        source_hash,
        recording_name,
        protocol
    from changes
),

moments as (
    select distinct
        source_hash,
        second
    from changes
),

-- A chart draws one line per protocol and needs a value of each whenever one of them changes.
of_each_protocol as (
    select
        protocols.dataset,
        protocols.source_hash,
        protocols.recording_name,
        protocols.protocol,
        moments.second,
        coalesce(changes.flow_change, 0) as flow_change
    from protocols
    inner join moments on protocols.source_hash = moments.source_hash
    left join changes
        on
            protocols.source_hash = changes.source_hash
            and protocols.protocol = changes.protocol
            and moments.second = changes.second
),

final as (
    select
        dataset,
        source_hash,
        protocol,
        second,
        recording_name,
        cast(sum(flow_change) over (
            partition by dataset, source_hash, protocol
            order by second
            rows between unbounded preceding and current row
        ) as bigint) as active_flows
    from of_each_protocol
)

select * from final
