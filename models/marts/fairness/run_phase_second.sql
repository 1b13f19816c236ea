with

seconds as (
    select * from {{ ref('int_run_phase_second') }}
),

final as (
    select
        seconds.study_id,
        seconds.run_id,
        seconds.role,
        seconds.run_second,
        seconds.phase as run_phase,
        seconds.phase_basis,
        seconds.side,
        seconds.competition_second,
        seconds.rate_basis,
        seconds.rate_bps,
        cast(seconds.link_rate_bps as double) as link_rate_bps,
        seconds.rate_bps / cast(seconds.link_rate_bps as double) as share_of_link_ratio
    from seconds
)

select * from final
