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
                    quantity
                    || case when sources = 'capture_pair+queue_counters' then ': capture pair ' else ': queue log ' end
                    || {{ plain_text('cast(first_value as decimal(38, 3))') }}
                    || case when sources = 'queue_log+capture_pair' then ', capture pair ' else ', tc counters ' end
                    || {{ plain_text('cast(second_value as decimal(38, 3))') }}
                    || ', bound ' || {{ plain_text('cast(bound as decimal(38, 3))') }}
        end as disagreement
    from comparisons
),

by_sources as (
    select
        study_id,
        run_id,
        quantity,
        count(agrees) as comparisons,
        count(case when not agrees then 1 end) as disagreements,
        coalesce(
            max(case when sources = 'queue_log+capture_pair' then disagreement end),
            max(case when sources = 'queue_log+queue_counters' then disagreement end),
            max(case when sources = 'capture_pair+queue_counters' then disagreement end)
        ) as disagreement,
        max(case when sources = 'queue_log+capture_pair' then gap end) as log_captures_gap,
        max(case when sources = 'queue_log+queue_counters' then gap end) as log_counters_gap,
        max(case when sources = 'capture_pair+queue_counters' then gap end) as captures_counters_gap
    from worded
    group by study_id, run_id, quantity
),

-- A missing source causes a gap in both of its comparisons, but the reason names it once.
final as (
    select
        study_id,
        run_id,
        quantity,
        comparisons,
        disagreements,
        case
            when disagreements > 0 then 'disagree'
            when comparisons > 0 then 'agree'
            else 'not_comparable'
        end as verdict,
        disagreement,
        nullif(
            substring(
                coalesce('; ' || log_captures_gap, '')
                || case when log_counters_gap = log_captures_gap then '' else coalesce('; ' || log_counters_gap, '') end
                || case
                    when captures_counters_gap = log_captures_gap or captures_counters_gap = log_counters_gap then ''
                    else coalesce('; ' || captures_counters_gap, '')
                end,
                3
            ),
            ''
        ) as gap
    from by_sources
)

select * from final
