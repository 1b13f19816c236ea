with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

link_rates as (
    select * from {{ ref('int_run_link_rate') }}
),

maximum_delays as (
    select * from {{ ref('int_run_maximum_delay') }}
),

run_roles as (
    select * from {{ ref('int_run_role') }}
),

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

study_measurements as (
    select * from {{ ref('stg_lake__run_measurement') }}
),

role_packets as (
    select
        study_id,
        run_id,
        role,
        departure_utc_ns,
        sojourn_ns
    from packets
    where
        fate = 'dequeued'
        and departs_in_window
        and role in {{ competing_roles() }}
        and sojourn_ns is not null
),

role_and_all_packets as (
    {{ roles_and_all('role_packets', ['departure_utc_ns', 'sojourn_ns']) }}
),

ranked as (
    select
        study_id,
        run_id,
        role,
        sojourn_ns,
        row_number() over (
            partition by study_id, run_id, role
            order by sojourn_ns
        ) as delay_rank,
        count(*) over (partition by study_id, run_id, role) as packets
    from role_and_all_packets
),

sojourns as (
    select
        study_id,
        run_id,
        role,
        'queue_sojourn' as delay_basis,
        count(*) as packets,
        cast(sum(sojourn_ns) as double) / count(*) / 1000000 as mean_ms,
        cast(max(case when delay_rank = {{ percentile_rank(500, 'packets') }} then sojourn_ns end) as double) / 1000000 as median_ms,
        cast(max(case when delay_rank = {{ percentile_rank(950, 'packets') }} then sojourn_ns end) as double) / 1000000 as p95_ms,
        cast(max(case when delay_rank = {{ percentile_rank(990, 'packets') }} then sojourn_ns end) as double) / 1000000 as p99_ms,
        cast(max(sojourn_ns) as double) / 1000000 as max_ms
    from ranked
    group by study_id, run_id, role
),

-- A programme's rate changes at whole seconds from its start, so the packets of a second have one.
programmes as (
    select
        study_id,
        run_id,
        min(span_start_ns) as start_ns
    from link_rates
    group by study_id, run_id
),

seconds_of_programmes as (
    select
        role_and_all_packets.study_id,
        role_and_all_packets.run_id,
        role_and_all_packets.role,
        max(maximum_delays.limit_bytes) as limit_bytes,
        min(role_and_all_packets.departure_utc_ns) as departure_utc_ns,
        cast(sum(role_and_all_packets.sojourn_ns) as double) as sojourn_sum_ns,
        count(*) as packets
    from role_and_all_packets
    inner join maximum_delays
        on
            role_and_all_packets.study_id = maximum_delays.study_id
            and role_and_all_packets.run_id = maximum_delays.run_id
    inner join programmes
        on
            role_and_all_packets.study_id = programmes.study_id
            and role_and_all_packets.run_id = programmes.run_id
    where
        maximum_delays.link_rate_basis = 'bandwidth_programme'
        and maximum_delays.maximum_delay_ms is not null
        and role_and_all_packets.departure_utc_ns >= programmes.start_ns
    group by
        role_and_all_packets.study_id,
        role_and_all_packets.run_id,
        role_and_all_packets.role,
        {{ integer_divide('role_and_all_packets.departure_utc_ns - programmes.start_ns', 1000000000) }}
),

-- If the link rate changes, a packet's share of the maximum uses the rate in force when it left: its delay in bytes, over the limit.
shares_of_steps as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.role,
        round(
            {{ ordered_sum('seconds.sojourn_sum_ns * link_rates.bandwidth_bps / 8000000000 / seconds.limit_bytes') }}
            / sum(seconds.packets),
            9
        ) as delay_share_of_maximum_ratio
    from seconds_of_programmes as seconds
    inner join link_rates
        on
            seconds.study_id = link_rates.study_id
            and seconds.run_id = link_rates.run_id
            and seconds.departure_utc_ns >= link_rates.span_start_ns
            and seconds.departure_utc_ns < link_rates.span_end_ns
    group by
        seconds.study_id,
        seconds.run_id,
        seconds.role
),

study_means as (
    select
        study_measurements.study_id,
        study_measurements.run_id,
        study_measurements.role,
        'study_mean' as delay_basis,
        cast(null as bigint) as packets,
        study_measurements.queuing_delay_mean_ms as mean_ms,
        cast(null as double) as median_ms,
        cast(null as double) as p95_ms,
        cast(null as double) as p99_ms,
        cast(null as double) as max_ms
    from study_measurements
    inner join run_roles
        on
            study_measurements.study_id = run_roles.study_id
            and study_measurements.run_id = run_roles.run_id
            and study_measurements.role = run_roles.role
    left join sojourns
        on
            study_measurements.study_id = sojourns.study_id
            and study_measurements.run_id = sojourns.run_id
            and study_measurements.role = sojourns.role
    where
        study_measurements.queuing_delay_mean_ms is not null
        and sojourns.run_id is null
),

delays as (
    select * from sojourns
    union all
    select * from study_means
),

final as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        delays.delay_basis,
        delays.packets,
        queue_logs.lost_events,
        delays.mean_ms,
        delays.median_ms,
        delays.p95_ms,
        delays.p99_ms,
        delays.max_ms,
        case
            when maximum_delays.link_rate_basis = 'fixed_rate' then delays.mean_ms / maximum_delays.maximum_delay_ms
            when delays.delay_basis = 'queue_sojourn' then shares_of_steps.delay_share_of_maximum_ratio
        end as delay_share_of_maximum_ratio,
        maximum_delays.maximum_delay_basis,
        reconciliations.reconciliation_verdict
    from delays
    inner join maximum_delays
        on
            delays.study_id = maximum_delays.study_id
            and delays.run_id = maximum_delays.run_id
    left join shares_of_steps
        on
            delays.study_id = shares_of_steps.study_id
            and delays.run_id = shares_of_steps.run_id
            and delays.role = shares_of_steps.role
    left join queue_logs
        on
            delays.study_id = queue_logs.study_id
            and delays.run_id = queue_logs.run_id
            and delays.delay_basis = 'queue_sojourn'
    left join reconciliations
        on
            delays.study_id = reconciliations.study_id
            and delays.run_id = reconciliations.run_id
)

select * from final
