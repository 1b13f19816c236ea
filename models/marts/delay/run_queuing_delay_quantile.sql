with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

histogram as (
    select * from {{ ref('queuing_delay_histogram') }}
),

quantiles as (
    select * from {{ ref('distribution_quantile') }}
),

role_and_all_bins as (
    select
        study_id,
        run_id,
        role,
        bin_index,
        bin_lower_us,
        bin_upper_us,
        packets
    from histogram

    union all

    select
        study_id,
        run_id,
        'all' as role,
        bin_index,
        bin_lower_us,
        bin_upper_us,
        cast(sum(packets) as bigint) as packets
    from histogram
    group by study_id, run_id, bin_index, bin_lower_us, bin_upper_us
),

cumulated as (
    select
        study_id,
        run_id,
        role,
        bin_lower_us,
        bin_upper_us,
        packets,
        sum(packets) over (
            partition by study_id, run_id, role
            order by bin_index
            rows between unbounded preceding and current row
        ) as packets_up_to_bin
    from role_and_all_bins
),

role_totals as (
    select
        study_id,
        run_id,
        role,
        cast(sum(packets) as bigint) as packets
    from role_and_all_bins
    group by study_id, run_id, role
),

ranks as (
    select
        role_totals.study_id,
        role_totals.run_id,
        role_totals.role,
        cast(quantiles.quantile_per_mille as double) / 1000 as quantile_ratio,
        {{ quantile_rank('quantiles.quantile_per_mille', 'role_totals.packets') }} as packet_rank
    from role_totals
    cross join quantiles
),

quantile_bins as (
    select
        ranks.study_id,
        ranks.run_id,
        ranks.role,
        ranks.quantile_ratio,
        cast(cumulated.bin_lower_us + cumulated.bin_upper_us - 1 as double) / 2000 as queuing_delay_ms
    from ranks
    inner join cumulated
        on
            ranks.study_id = cumulated.study_id
            and ranks.run_id = cumulated.run_id
            and ranks.role = cumulated.role
            and ranks.packet_rank <= cumulated.packets_up_to_bin
            and ranks.packet_rank > cumulated.packets_up_to_bin - cumulated.packets
),

final as (
    select
        quantile_bins.study_id,
        quantile_bins.run_id,
        quantile_bins.role,
        quantile_bins.quantile_ratio,
        quantile_bins.queuing_delay_ms,
        reconciliations.reconciliation_verdict
    from quantile_bins
    left join reconciliations
        on
            quantile_bins.study_id = reconciliations.study_id
            and quantile_bins.run_id = reconciliations.run_id
)

select * from final
