with

runs as (
    select * from {{ ref('int_run_described') }}
),

gaps as (
    select * from {{ ref('int_run_source_gap') }}
),

quantities as (
    select * from {{ ref('int_run_reconciliation_quantity') }}
),

judged as (
    select
        study_id,
        run_id,
        cast(sum(comparisons) as bigint) as comparisons,
        cast(sum(disagreements) as bigint) as disagreements,
        max(case when quantity = 'packets' then disagreement end) as packets_disagreement,
        max(case when quantity = 'bytes' then disagreement end) as bytes_disagreement,
        max(case when quantity = 'drops' then disagreement end) as drops_disagreement,
        max(case when quantity = 'delay_mean' then disagreement end) as delay_disagreement,
        max(case when quantity = 'packets' then gap end) as gap
    from quantities
    group by study_id, run_id
),

final as (
    select
        runs.study_id,
        runs.run_id,
        case
            when judged.disagreements > 0 then 'disagree'
            when gaps.is_incomplete then 'incomplete'
            when judged.comparisons > 0 then 'agree'
            else 'not_comparable'
        end as reconciliation_verdict,
        case
            when judged.disagreements > 0
                then
                    substring(
                        coalesce('; ' || judged.packets_disagreement, '')
                        || coalesce('; ' || judged.drops_disagreement, '')
                        || coalesce('; ' || judged.bytes_disagreement, '')
                        || coalesce('; ' || judged.delay_disagreement, ''),
                        3
                    )
            when gaps.is_incomplete or coalesce(judged.comparisons, 0) = 0
                then coalesce(judged.gap, 'the run has no queue log, captures or counters')
        end as reconciliation_reason
    from runs
    left join gaps
        on
            runs.study_id = gaps.study_id
            and runs.run_id = gaps.run_id
    left join judged
        on
            runs.study_id = judged.study_id
            and runs.run_id = judged.run_id
)

select * from final
