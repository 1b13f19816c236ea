with

profiles as (
    select * from {{ ref('int_run_profile') }}
    where bandwidth_programme is not null
),

rates as (
    select * from {{ ref('int_run_profile_second') }}
    where step_number is not null
),

steps as (
    select * from {{ ref('stg_lake__bandwidth_step') }}
),

thresholds as (
    select * from {{ ref('threshold') }}
),

demands as (
    select * from {{ ref('int_throughput_demand') }}
),

changes as (
    select
        study_id,
        bandwidth_programme,
        step_number,
        second as step_second,
        bandwidth_bps as to_bps,
        lag(bandwidth_bps) over (partition by study_id, bandwidth_programme order by step_number) as from_bps
    from steps
),

-- The rate at the end of each step: the next step starts from it, and a later step may return to it.
settled as (
    select
        settled_rates.profile_id,
        settled_rates.step_number,
        settled_rates.settled_bps,
        changes.to_bps as bandwidth_bps
    from ({{ settled_rate_of_each_step('rates', 'thresholds') }}) as settled_rates
    inner join profiles
        on settled_rates.profile_id = profiles.profile_id
    inner join changes
        on
            profiles.study_id = changes.study_id
            and profiles.bandwidth_programme = changes.bandwidth_programme
            and settled_rates.step_number = changes.step_number
),

profile_changes as (
    select
        profiles.profile_id,
        changes.step_number,
        changes.step_second,
        changes.from_bps,
        changes.to_bps,
        settled.settled_bps as rate_before_bps
    from profiles
    inner join changes
        on
            profiles.study_id = changes.study_id
            and profiles.bandwidth_programme = changes.bandwidth_programme
    left join settled
        on
            profiles.profile_id = settled.profile_id
            and changes.step_number - 1 = settled.step_number
    where changes.from_bps != changes.to_bps
),

earlier_at_same_rate as (
    select
        profile_changes.profile_id,
        profile_changes.step_number,
        settled.settled_bps,
        row_number() over (
            partition by profile_changes.profile_id, profile_changes.step_number
            order by settled.step_number desc
        ) as recency
    from profile_changes
    inner join settled
        on
            profile_changes.profile_id = settled.profile_id
            and profile_changes.to_bps = settled.bandwidth_bps
            and profile_changes.step_number > settled.step_number
),

targets as (
    select
        profile_changes.profile_id,
        profile_changes.step_number,
        profile_changes.step_second,
        profile_changes.from_bps,
        profile_changes.to_bps,
        profile_changes.rate_before_bps,
        case when profile_changes.to_bps < profile_changes.from_bps then 'fall_below' else 'back' end as reaction,
        case
            when profile_changes.to_bps < profile_changes.from_bps then cast(profile_changes.to_bps as double)
            else earlier_at_same_rate.settled_bps * thresholds.threshold_value
        end as target_bps
    from profile_changes
    inner join thresholds
        on thresholds.threshold_id = 'step-recovered'
    left join earlier_at_same_rate
        on
            profile_changes.profile_id = earlier_at_same_rate.profile_id
            and profile_changes.step_number = earlier_at_same_rate.step_number
            and earlier_at_same_rate.recency = 1
),

reached as (
    select
        targets.profile_id,
        targets.step_number,
        min(
            case
                when targets.reaction = 'fall_below' and rates.rate_bps <= targets.target_bps then rates.second
                when targets.reaction = 'back' and rates.rate_bps >= targets.target_bps then rates.second
            end
        ) as reached_second,
        count(*) as seconds_seen
    from targets
    inner join rates
        on
            targets.profile_id = rates.profile_id
            and targets.step_number = rates.step_number
    group by targets.profile_id, targets.step_number
),

-- A single second at the earlier rate is not a return to it.
rolling as (
    select * from {{ median_rate_of_five_seconds('rates') }}
),

returns as (
    select
        profile_id,
        step_number,
        target_bps,
        step_second as from_second
    from targets
    where reaction = 'back'
),

held as (
    {{ held_second_of_each_step('returns', 'rolling', 'thresholds') }}
),

-- The application's rate without a limit, by the demand rule of its study. If there are several, none is chosen.
application_demands as (
    select
        study_id,
        role,
        application,
        max(demand_bps) as demand_bps
    from demands
    where
        application is not null
        and demand_bps is not null
    group by study_id, role, application
    having count(distinct demand_bps) = 1
),

demanding as (
    select
        targets.profile_id,
        targets.step_number,
        targets.step_second as from_second,
        application_demands.demand_bps as target_bps
    from targets
    inner join profiles
        on targets.profile_id = profiles.profile_id
    inner join application_demands
        on
            profiles.study_id = application_demands.study_id
            and profiles.role = application_demands.role
            and profiles.application = application_demands.application
    where targets.reaction = 'back'
),

demand_held as (
    {{ held_second_of_each_step('demanding', 'rolling', 'thresholds') }}
),

-- The highest rate from the first second at the target to 30 s later.
highest as (
    select
        reached.profile_id,
        reached.step_number,
        max(rates.rate_bps) as highest_bps
    from reached
    inner join rates
        on
            reached.profile_id = rates.profile_id
            and reached.step_number = rates.step_number
    where
        rates.second >= reached.reached_second
        and rates.second <= reached.reached_second + 30
    group by reached.profile_id, reached.step_number
),

judged as (
    select
        targets.profile_id,
        targets.step_number,
        targets.step_second,
        targets.from_bps,
        targets.to_bps,
        targets.rate_before_bps,
        targets.reaction,
        targets.target_bps,
        case when targets.reaction = 'back' then held.held_second else reached.reached_second end as reaction_second,
        reached.reached_second is not null as is_touched,
        case
            when reached.seconds_seen is null then 'the run ended before the step'
            when targets.reaction = 'back' and targets.target_bps is null then 'no earlier step at this rate'
            when targets.reaction = 'fall_below' and targets.rate_before_bps <= targets.to_bps
                then 'already at or below the new rate'
            when targets.reaction = 'back' and held.held_second is null and held.is_reached then {{ not_held_reason('held') }}
            when targets.reaction = 'back' and held.held_second is null then 'not before the next step'
            when reached.reached_second is null then 'not before the next step'
        end as reaction_null_reason,
        demanding.target_bps as demand_bps,
        demand_held.held_second as demand_second,
        case
            when targets.reaction != 'back' then 'the rate of the link fell'
            when demanding.target_bps is null then 'the study gives the application no demand, or several'
            when reached.seconds_seen is null then 'the run ended before the step'
            when demand_held.held_second is null and demand_held.is_reached then {{ not_held_reason('demand_held') }}
            when demand_held.held_second is null then 'not before the next step'
        end as demand_reached_null_reason
    from targets
    left join reached
        on
            targets.profile_id = reached.profile_id
            and targets.step_number = reached.step_number
    left join held
        on
            targets.profile_id = held.profile_id
            and targets.step_number = held.step_number
    left join demanding
        on
            targets.profile_id = demanding.profile_id
            and targets.step_number = demanding.step_number
    left join demand_held
        on
            targets.profile_id = demand_held.profile_id
            and targets.step_number = demand_held.step_number
),

final as (
    select
        judged.profile_id,
        judged.step_number,
        {{ step_dimensions('profiles') }},
        judged.reaction,
        judged.step_second,
        judged.from_bps,
        judged.to_bps,
        judged.rate_before_bps,
        judged.target_bps,
        case
            when judged.reaction_null_reason is null then cast(judged.reaction_second - judged.step_second as double) * 1000
        end as reaction_ms,
        case
            when judged.reaction_null_reason is null or (judged.reaction = 'back' and judged.is_touched)
                then highest.highest_bps / judged.to_bps
        end as overshoot_ratio,
        judged.reaction_null_reason,
        judged.demand_bps,
        case
            when judged.demand_reached_null_reason is null then cast(judged.demand_second - judged.step_second as double) * 1000
        end as demand_reached_ms,
        judged.demand_reached_null_reason
    from judged
    inner join profiles
        on judged.profile_id = profiles.profile_id
    left join highest
        on
            judged.profile_id = highest.profile_id
            and judged.step_number = highest.step_number
)

select * from final
