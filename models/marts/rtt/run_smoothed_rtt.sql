with

polls as (
    select * from {{ ref('int_tcp_poll_with_role') }}
),

summarised as (
    select
        study_id,
        run_id,
        role,
        count(*) as polls,
        {{ clamped('cast(sum(srtt_us) as double) / count(*)', 'min(srtt_us)', 'max(srtt_us)') }} / 1000 as srtt_mean_ms,
        cast(min(srtt_us) as double) / 1000 as srtt_min_ms,
        cast(max(srtt_us) as double) / 1000 as srtt_max_ms,
        cast(min(min_rtt_us) as double) / 1000 as min_rtt_ms
    from polls
    where
        role = 'tcp'
        and starts_in_window
        and srtt_us is not null
    group by study_id, run_id, role
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.role,
        'smoothed' as rtt_basis,
        'polls' as sample_basis,
        summarised.polls,
        summarised.srtt_mean_ms,
        summarised.srtt_min_ms,
        summarised.srtt_max_ms,
        summarised.min_rtt_ms
    from summarised
)

select * from final
