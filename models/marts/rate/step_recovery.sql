-- A disruption is a fall in the link rate that is followed by a return to the earlier rate. The recovery time depends on the definition,
-- so each definition has its own rows.
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

reactions as (
    select * from {{ ref('step_reaction') }}
    where reaction = 'back'
),

changes as (
    select
        study_id,
        bandwidth_programme,
        step_number,
        second as disruption_end_second,
        bandwidth_bps,
        lag(bandwidth_bps) over (partition by study_id, bandwidth_programme order by step_number) as disruption_bps,
        lag(bandwidth_bps, 2) over (partition by study_id, bandwidth_programme order by step_number) as undisturbed_bps,
        lag(second) over (partition by study_id, bandwidth_programme order by step_number) as disruption_start_second
    from steps
),

disruptions as (
    select
        profiles.profile_id,
        changes.step_number,
        changes.disruption_bps,
        changes.disruption_start_second,
        changes.disruption_end_second
    from profiles
    inner join changes
        on
            profiles.study_id = changes.study_id
            and profiles.bandwidth_programme = changes.bandwidth_programme
    where
        changes.disruption_bps < changes.bandwidth_bps
        and changes.undisturbed_bps = changes.bandwidth_bps
),

medians_before as (
    select
        disruptions.profile_id,
        disruptions.step_number,
        median(rates.rate_bps) as rate_before_bps
    from disruptions
    inner join rates
        on
            disruptions.profile_id = rates.profile_id
            and rates.step_number = disruptions.step_number - 2
    group by disruptions.profile_id, disruptions.step_number
),

rolling as (
    select * from {{ median_rate_of_five_seconds('rates') }}
),

recovered as (
    select
        disruptions.profile_id,
        disruptions.step_number,
        count(rolling.second) as seconds_seen,
        min(case when rolling.rate_bps >= medians_before.rate_before_bps then rolling.second end) as recovered_second
    from disruptions
    left join medians_before
        on
            disruptions.profile_id = medians_before.profile_id
            and disruptions.step_number = medians_before.step_number
    left join rolling
        on
            disruptions.profile_id = rolling.profile_id
            and disruptions.step_number = rolling.step_number
    group by disruptions.profile_id, disruptions.step_number
),

defined as (
    select
        disruptions.profile_id,
        disruptions.step_number,
        'imc21-median-of-5-s' as recovery_definition,
        medians_before.rate_before_bps as recovered_at_bps,
        cast(recovered.recovered_second - disruptions.disruption_end_second as double) * 1000 as recovery_ms,
        case
            when medians_before.rate_before_bps is null then 'no second before the disruption'
            when recovered.seconds_seen = 0 then 'the run ended before the disruption did'
            when recovered.recovered_second is null then 'not before the next step or the end of the run'
        end as recovery_null_reason
    from disruptions
    inner join recovered
        on
            disruptions.profile_id = recovered.profile_id
            and disruptions.step_number = recovered.step_number
    left join medians_before
        on
            disruptions.profile_id = medians_before.profile_id
            and disruptions.step_number = medians_before.step_number

    union all

    select
        disruptions.profile_id,
        disruptions.step_number,
        'sojourn-share-held' as recovery_definition,
        reactions.target_bps as recovered_at_bps,
        reactions.reaction_ms as recovery_ms,
        reactions.reaction_null_reason as recovery_null_reason
    from disruptions
    inner join reactions
        on
            disruptions.profile_id = reactions.profile_id
            and disruptions.step_number = reactions.step_number

    union all

    select
        disruptions.profile_id,
        disruptions.step_number,
        'sojourn-demand-held' as recovery_definition,
        reactions.demand_bps as recovered_at_bps,
        reactions.demand_reached_ms as recovery_ms,
        reactions.demand_reached_null_reason as recovery_null_reason
    from disruptions
    inner join reactions
        on
            disruptions.profile_id = reactions.profile_id
            and disruptions.step_number = reactions.step_number
),

final as (
    select
        defined.profile_id,
        defined.step_number,
        defined.recovery_definition,
        {{ step_dimensions('profiles') }},
        disruptions.disruption_bps,
        disruptions.disruption_start_second,
        disruptions.disruption_end_second,
        defined.recovered_at_bps,
        defined.recovery_ms,
        defined.recovery_null_reason
    from defined
    inner join disruptions
        on
            defined.profile_id = disruptions.profile_id
            and defined.step_number = disruptions.step_number
    inner join profiles
        on defined.profile_id = profiles.profile_id
)

select * from final
