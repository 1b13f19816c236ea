with

bins as (
    select * from {{ ref('connection_queuing_delay_month_country_histogram') }}
),

thresholds as (
    select * from {{ ref('delay_threshold') }}
),

counted as (
    select
        bins.dataset,
        bins.synthetic,
        bins.rtt_basis,
        bins.sample_basis,
        bins.country,
        thresholds.threshold_us,
        thresholds.threshold_version,
        cast(sum(bins.connections) as bigint) as connections,
        cast(sum(case when bins.bin_lower_us >= thresholds.threshold_us then bins.connections else 0 end) as bigint) as connections_above
    from bins
    cross join thresholds
    group by
        bins.dataset,
        bins.synthetic,
        bins.rtt_basis,
        bins.sample_basis,
        bins.country,
        thresholds.threshold_us,
        thresholds.threshold_version
),

final as (
    select
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        country,
        cast(threshold_us as double) / 1000 as threshold_ms,
        cast(threshold_version as int) as threshold_version,
        connections,
        connections_above,
        cast(connections_above as double) / connections as connection_share_above_ratio,
        cast(
            row_number() over (
                partition by dataset, synthetic, rtt_basis, sample_basis, threshold_us
                order by case when country = 'withheld' then 0 else 1 end asc, connections desc, country asc
            ) as bigint
        ) as place,
        true as is_upper_bound
    from counted
)

select * from final
