-- Reaction of a rate to a step in the round-trip time. The link can still carry as much as before, so the rate should not change.
with

profiles as (
    select * from {{ ref('int_run_profile') }}
    where bandwidth_programme is not null
),

rates as (
    select * from {{ ref('int_run_profile_second') }}
    where step_number is not null
),

rtt_steps as (
    select * from {{ ref('stg_lake__rtt_step') }}
),

bandwidth_steps as (
    select * from {{ ref('stg_lake__bandwidth_step') }}
),

thresholds as (
    select * from {{ ref('threshold') }}
),

steps as (
    select
        rtt_steps.study_id,
        rtt_steps.bandwidth_programme,
        rtt_steps.step_number,
        rtt_steps.second as step_second,
        rtt_steps.rtt_ms as to_rtt_ms,
        bandwidth_steps.bandwidth_bps,
        lag(rtt_steps.rtt_ms) over (
            partition by rtt_steps.study_id, rtt_steps.bandwidth_programme
            order by rtt_steps.step_number
        ) as from_rtt_ms,
        lag(bandwidth_steps.bandwidth_bps) over (
            partition by rtt_steps.study_id, rtt_steps.bandwidth_programme
            order by rtt_steps.step_number
        ) as from_bps
    from rtt_steps
    inner join bandwidth_steps
        on
            rtt_steps.study_id = bandwidth_steps.study_id
            and rtt_steps.bandwidth_programme = bandwidth_steps.bandwidth_programme
            and rtt_steps.step_number = bandwidth_steps.step_number
),

settled as (
    {{ settled_rate_of_each_step('rates', 'thresholds') }}
),

profile_steps as (
    select
        profiles.profile_id,
        steps.step_number,
        steps.step_second,
        steps.from_rtt_ms,
        steps.to_rtt_ms,
        steps.from_bps != steps.bandwidth_bps as is_rate_changing,
        before_step.settled_bps as rate_before_bps,
        in_step.settled_bps as rate_after_bps,
        before_step.settled_bps * thresholds.threshold_value as kept_bps
    from profiles
    inner join steps
        on
            profiles.study_id = steps.study_id
            and profiles.bandwidth_programme = steps.bandwidth_programme
    inner join thresholds
        on thresholds.threshold_id = 'step-recovered'
    left join settled as before_step
        on
            profiles.profile_id = before_step.profile_id
            and steps.step_number - 1 = before_step.step_number
    left join settled as in_step
        on
            profiles.profile_id = in_step.profile_id
            and steps.step_number = in_step.step_number
    where steps.from_rtt_ms != steps.to_rtt_ms
),

fallen as (
    select
        profile_steps.profile_id,
        profile_steps.step_number,
        min(rates.rate_bps) as lowest_bps,
        min(case when rates.rate_bps < profile_steps.kept_bps then rates.second end) as fall_second
    from profile_steps
    inner join rates
        on
            profile_steps.profile_id = rates.profile_id
            and profile_steps.step_number = rates.step_number
    group by profile_steps.profile_id, profile_steps.step_number
),

rolling as (
    select * from {{ median_rate_of_five_seconds('rates') }}
),

-- After a short fall, the median still contains seconds from before it, so it counts only from the first second that is itself at the
-- level again.
touched as (
    select
        fallen.profile_id,
        fallen.step_number,
        profile_steps.kept_bps as target_bps,
        min(rates.second) as from_second
    from fallen
    inner join profile_steps
        on
            fallen.profile_id = profile_steps.profile_id
            and fallen.step_number = profile_steps.step_number
    inner join rates
        on
            fallen.profile_id = rates.profile_id
            and fallen.step_number = rates.step_number
            and fallen.fall_second < rates.second
            and profile_steps.kept_bps <= rates.rate_bps
    group by fallen.profile_id, fallen.step_number, profile_steps.kept_bps
),

returned as (
    {{ held_second_of_each_step('touched', 'rolling', 'thresholds') }}
),

-- The highest rate from the first second back at the level to 30 s later; without a fall, the highest of the step's first 30 s.
highest as (
    select
        profile_steps.profile_id,
        profile_steps.step_number,
        max(rates.rate_bps) as highest_bps
    from profile_steps
    inner join fallen
        on
            profile_steps.profile_id = fallen.profile_id
            and profile_steps.step_number = fallen.step_number
    left join touched
        on
            profile_steps.profile_id = touched.profile_id
            and profile_steps.step_number = touched.step_number
    inner join rates
        on
            profile_steps.profile_id = rates.profile_id
            and profile_steps.step_number = rates.step_number
            and rates.second >= coalesce(touched.from_second, profile_steps.step_second)
            and rates.second <= coalesce(touched.from_second, profile_steps.step_second) + 30
    where
        fallen.fall_second is null
        or touched.from_second is not null
    group by profile_steps.profile_id, profile_steps.step_number
),

judged as (
    select
        profile_steps.*,
        fallen.lowest_bps,
        fallen.fall_second,
        returned.held_second,
        highest.highest_bps,
        case
            when fallen.profile_id is null then 'the run ended before the step'
            when profile_steps.is_rate_changing then 'the rate of the link changes at the same time'
            when profile_steps.rate_before_bps is null then 'no second before the step'
            when fallen.fall_second is null then 'the rate did not fall'
            when returned.held_second is null and returned.is_reached then {{ not_held_reason('returned') }}
            when returned.held_second is null then 'not before the next step or the end of the run'
        end as recovery_null_reason
    from profile_steps
    left join fallen
        on
            profile_steps.profile_id = fallen.profile_id
            and profile_steps.step_number = fallen.step_number
    left join returned
        on
            profile_steps.profile_id = returned.profile_id
            and profile_steps.step_number = returned.step_number
    left join highest
        on
            profile_steps.profile_id = highest.profile_id
            and profile_steps.step_number = highest.step_number
),

final as (
    select
        judged.profile_id,
        judged.step_number,
        {{ step_dimensions('profiles') }},
        judged.step_second,
        judged.from_rtt_ms,
        judged.to_rtt_ms,
        judged.rate_before_bps,
        judged.lowest_bps,
        judged.rate_after_bps,
        case
            when not judged.is_rate_changing then cast(judged.fall_second - judged.step_second as double) * 1000
        end as fall_ms,
        case
            when judged.recovery_null_reason is null then cast(judged.held_second - judged.step_second as double) * 1000
        end as recovery_ms,
        case when not judged.is_rate_changing then judged.highest_bps / nullif(judged.rate_before_bps, 0) end as overshoot_ratio,
        judged.recovery_null_reason
    from judged
    inner join profiles
        on judged.profile_id = profiles.profile_id
)

select * from final
