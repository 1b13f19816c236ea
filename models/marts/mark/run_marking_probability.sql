{#- Four bins per doubling of the delay. Histograms have sixteen times as many bins, each with too few packets for a share. -#}
{%- set bins_together = 16 -%}
with

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

measured as (
    select
        study_id,
        run_id,
        role,
        coalesce(is_marked_here, false) as is_marked_here,
        ecn_codepoint_at_enqueue = 'ce' as came_marked,
        ecn_codepoint_at_enqueue,
        max(case when ecn_codepoint_at_enqueue = 'ect1' then 1 else 0 end) over (partition by study_id, run_id, role) = 1 as sends_ect1,
        max(case when ecn_codepoint_at_enqueue = 'ect0' then 1 else 0 end) over (partition by study_id, run_id, role) = 1 as sends_ect0,
        {{ integer_divide('sojourn_ns', 1000) }} as sojourn_us
    from packets
    where
        departs_in_window
        and fate = 'dequeued'
        and sojourn_ns is not null
        and ecn_codepoint_at_enqueue in ('ect0', 'ect1', 'ce')
),

binned as (
    select
        *,
        -- A packet with CE had ECT(0) or ECT(1) before: its role shows which, unless the role sends both or neither.
        case
            when ecn_codepoint_at_enqueue = 'ect1' or (came_marked and sends_ect1 and not sends_ect0) then 'l4s'
            when ecn_codepoint_at_enqueue = 'ect0' or (came_marked and sends_ect0 and not sends_ect1) then 'classic'
            else 'unknown'
        end as codepoint_class,
        {{ integer_divide('(' ~ log_linear_bin('sojourn_us') ~ ')', bins_together) }} as delay_bin
    from measured
),

counted as (
    select
        study_id,
        run_id,
        role,
        codepoint_class,
        delay_bin,
        count(*) as ecn_capable_packets,
        count(case when is_marked_here then 1 end) as marked_packets,
        count(case when came_marked then 1 end) as marked_at_enqueue_packets
    from binned
    group by study_id, run_id, role, codepoint_class, delay_bin
),

bounded as (
    select
        *,
        {{ bin_lower_us('(delay_bin * ' ~ bins_together ~ ')') }} as lower_us,
        {{ bin_upper_us('(delay_bin * ' ~ bins_together ~ ' + ' ~ (bins_together - 1) ~ ')') }} as upper_us
    from counted
),

final as (
    select
        bounded.study_id,
        bounded.run_id,
        bounded.role,
        bounded.codepoint_class,
        bounded.delay_bin,
        cast(bounded.lower_us as double) / 1000 as queuing_delay_bin_lower_ms,
        cast(bounded.upper_us as double) / 1000 as queuing_delay_bin_upper_ms,
        bounded.ecn_capable_packets,
        bounded.marked_packets,
        bounded.marked_at_enqueue_packets,
        cast(bounded.marked_packets as double) / bounded.ecn_capable_packets as marking_min_ratio,
        cast(bounded.marked_packets + bounded.marked_at_enqueue_packets as double) / bounded.ecn_capable_packets as marking_max_ratio
    from bounded
)

select * from final
