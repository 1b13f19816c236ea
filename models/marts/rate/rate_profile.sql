with

profiles as (
    select * from {{ ref('int_run_profile') }}
),

rates as (
    select * from {{ ref('int_run_profile_second') }}
),

named as (
    select
        {{ id_part('profiles.study_id') }}
        || '/' || {{ id_part('profiles.application', 'tcp') }}
        || case
            when profiles.rival_application is null then ''
            else '/rival_application=' || {{ id_part('profiles.rival_application') }}
        end
        || '/role=' || profiles.role
        || '/rate_basis=' || profiles.rate_basis
        || '/workload=' || {{ id_part('profiles.workload') }}
        || '/direction=' || coalesce(profiles.direction, 'none')
        || '/bandwidth='
        || coalesce({{ id_part('profiles.bandwidth_programme') }}, {{ plain_text('profiles.bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || {{ plain_text('profiles.rtt_ms') }}
        || '/aqm=' || {{ id_part('profiles.aqm') }}
        || '/queue_size_bdp=' || coalesce({{ plain_text('profiles.queue_size_bdp') }}, 'none')
        || '/queue_size_bytes=' || coalesce({{ plain_text('profiles.queue_size_bytes') }}, 'none')
        || case
            when profiles.queue_limit_packets is null then ''
            else '/queue_limit_packets=' || {{ plain_text('profiles.queue_limit_packets') }}
        end
        || '/congestion_control=' || {{ id_part('profiles.congestion_control', 'none') }}
        || '/start_order=' || coalesce(profiles.start_order, 'none')
        || case when profiles.testbed is null then '' else '/testbed=' || {{ id_part('profiles.testbed') }} end
        || case when profiles.queue_scheme is null then '' else '/queue_scheme=' || {{ id_part('profiles.queue_scheme') }} end
        || case when profiles.congested_direction is null then '' else '/congested_direction=' || profiles.congested_direction end
        || case when profiles.opposite_link is null then '' else '/opposite_link=' || profiles.opposite_link end
        || case when profiles.participants is null then '' else '/participants=' || {{ plain_text('profiles.participants') }} end
        || case when profiles.call_view is null then '' else '/call_view=' || {{ id_part('profiles.call_view') }} end
        || case when profiles.ecn is null then '' else '/ecn=' || {{ id_part('profiles.ecn') }} end
        || case when profiles.l4s is null then '' else '/l4s=' || {{ id_part('profiles.l4s') }} end as rate_profile_id,
        profiles.study_id,
        profiles.role,
        profiles.rate_basis,
        profiles.workload,
        profiles.direction,
        profiles.bandwidth_bps,
        profiles.bandwidth_programme,
        profiles.rtt_ms,
        profiles.aqm,
        profiles.queue_size_bdp,
        profiles.queue_size_bytes,
        profiles.queue_limit_packets,
        profiles.queue_label,
        profiles.congestion_control,
        profiles.application,
        profiles.rival_application,
        profiles.start_order,
        profiles.testbed,
        profiles.queue_scheme,
        profiles.congested_direction,
        profiles.opposite_link,
        profiles.participants,
        profiles.call_view,
        profiles.ecn,
        profiles.l4s,
        profiles.exclusion_reason,
        profiles.profile_id
    from profiles
),

-- A group for each second takes the memory of its key.
numbered as (
    select
        *,
        dense_rank() over (order by rate_profile_id) as rate_profile_number
    from named
    where rate_profile_id is not null
),

-- Ranks spill to disk, which the state of a percentile for each second of a day-long profile does not.
ranked as (
    select
        numbered.rate_profile_number,
        numbered.exclusion_reason,
        rates.second,
        rates.link_rate_bps,
        rates.rate_bps,
        count(case when numbered.exclusion_reason is null then rates.rate_bps end) over (
            partition by numbered.rate_profile_number, rates.second
        ) as values_of_second,
        row_number() over (
            partition by numbered.rate_profile_number, rates.second
            order by case when numbered.exclusion_reason is null and rates.rate_bps is not null then 0 else 1 end, rates.rate_bps
        ) as rate_rank
    from numbered
    inner join rates
        on numbered.profile_id = rates.profile_id
),

seconds as (
    select
        rate_profile_number,
        second,
        cast(max(link_rate_bps) as double) as link_rate_bps,
        count(case when exclusion_reason is null then 1 end) as runs,
        count(exclusion_reason) as excluded_runs,
        {{ percentile_by_rank(0.5, 'rate_bps', 'rate_rank', 'values_of_second') }} as rate_median_bps,
        {{ percentile_by_rank(0.25, 'rate_bps', 'rate_rank', 'values_of_second') }} as rate_q1_bps,
        {{ percentile_by_rank(0.75, 'rate_bps', 'rate_rank', 'values_of_second') }} as rate_q3_bps
    from ranked
    group by rate_profile_number, second
),

described as (
    select distinct
        rate_profile_number,
        rate_profile_id,
        study_id,
        role,
        rate_basis,
        workload,
        direction,
        bandwidth_bps,
        bandwidth_programme,
        rtt_ms,
        aqm,
        queue_size_bdp,
        queue_size_bytes,
        queue_limit_packets,
        queue_label,
        congestion_control,
        application,
        rival_application,
        start_order,
        testbed,
        queue_scheme,
        congested_direction,
        opposite_link,
        participants,
        call_view,
        ecn,
        l4s
    from numbered
),

final as (
    select
        described.rate_profile_id,
        seconds.second,
        described.study_id,
        described.role,
        described.rate_basis,
        described.workload,
        described.direction,
        described.bandwidth_bps,
        described.bandwidth_programme,
        described.rtt_ms,
        described.aqm,
        described.queue_size_bdp,
        described.queue_size_bytes,
        described.queue_limit_packets,
        described.queue_label,
        described.congestion_control,
        described.application,
        described.rival_application,
        described.start_order,
        described.testbed,
        described.queue_scheme,
        described.congested_direction,
        described.opposite_link,
        described.participants,
        described.call_view,
        described.ecn,
        described.l4s,
        seconds.link_rate_bps,
        seconds.runs,
        seconds.excluded_runs,
        seconds.rate_median_bps,
        -- A single run has no spread, so it has no band.
        case when seconds.runs > 1 then seconds.rate_q1_bps end as rate_q1_bps,
        case when seconds.runs > 1 then seconds.rate_q3_bps end as rate_q3_bps
    from seconds
    inner join described
        on seconds.rate_profile_number = described.rate_profile_number
)

select * from final
