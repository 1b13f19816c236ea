with

comparisons as (
    select * from {{ ref('int_run_reconciliation_comparison') }}
),

worded as (
    select
        *,
        case
            when not agrees
                then
                    quantity || ': queue log '
                    || {{ plain_text('cast(first_value as decimal(20, 3))') }}
                    || case when sources = 'queue_log+capture_pair' then ', capture pair ' else ', tc counters ' end
                    || {{ plain_text('cast(second_value as decimal(20, 3))') }}
                    || ', bound ' || {{ plain_text('cast(bound as decimal(20, 3))') }}
        end as disagreement
    from comparisons
),

-- Without a queue log its gap stands for both of its comparisons, and once in the reason.
final as (
    select
        study_id,
        run_id,
        quantity,
        count(agrees) as comparisons,
        count(case when not agrees then 1 end) as disagreements,
        case
            when count(case when not agrees then 1 end) > 0 then 'disagree'
            when count(agrees) > 0 then 'agree'
            else 'not_comparable'
        end as verdict,
        coalesce(
            max(case when sources = 'queue_log+capture_pair' then disagreement end),
            max(case when sources = 'queue_log+queue_counters' then disagreement end)
        ) as disagreement,
        case
            when
                max(case when sources = 'queue_log+capture_pair' then gap end)
                = max(case when sources = 'queue_log+queue_counters' then gap end)
                then max(case when sources = 'queue_log+capture_pair' then gap end)
            else
                coalesce(
                    max(case when sources = 'queue_log+capture_pair' then gap end)
                    || '; ' || max(case when sources = 'queue_log+queue_counters' then gap end),
                    max(case when sources = 'queue_log+capture_pair' then gap end),
                    max(case when sources = 'queue_log+queue_counters' then gap end)
                )
        end as gap
    from worded
    group by study_id, run_id, quantity
)

select * from final
