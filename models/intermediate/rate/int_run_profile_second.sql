with

profiles as (
    select * from {{ ref('int_run_profile') }}
),

capture_seconds as (
    select * from {{ ref('int_capture_second') }}
),

published as (
    select * from {{ ref('int_rate_profile_once') }}
),

steps as (
    select * from {{ ref('stg_lake__bandwidth_step') }}
),

rates as (
    select
        {{ id_part('study_id') }} || '/' || {{ id_part('run_id') }} || '/' || measurement || '/' || role as profile_id,
        second,
        cast(bytes as double) * 8 as rate_bps
    from capture_seconds

    union all

    select
        {{ id_part('study_id') }} || '/' || source_hash || '/' || {{ plain_text('profile_number') }} as profile_id,
        second,
        rate_bps
    from published
),

spans as (
    select
        study_id,
        bandwidth_programme,
        step_number,
        second as step_second,
        lead(second) over (partition by study_id, bandwidth_programme order by step_number) as next_step_second,
        bandwidth_bps
    from steps
),

final as (
    select
        rates.profile_id,
        rates.second,
        rates.rate_bps,
        spans.step_number,
        coalesce(spans.bandwidth_bps, profiles.bandwidth_bps) as link_rate_bps
    from rates
    inner join profiles
        on rates.profile_id = profiles.profile_id
    left join spans
        on
            profiles.study_id = spans.study_id
            and profiles.bandwidth_programme = spans.bandwidth_programme
            and rates.second >= spans.step_second
            and (spans.next_step_second is null or rates.second < spans.next_step_second)
)

select * from final
