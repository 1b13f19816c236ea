-- Accuracy of the bins: a figure read from them is within 1 % (and 1 us, the resolution) of the exact figure.
with

histogram as (
    select * from {{ ref('queuing_delay_histogram') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
    where delay_basis = 'queue_sojourn'
),

histogram_means as (
    select
        study_id,
        run_id,
        role,
        cast(sum((bin_lower_us + bin_upper_us - 1) * packets) as double) / sum(packets) / 2000 as mean_ms
    from histogram
    group by study_id, run_id, role
),

final as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        delays.mean_ms,
        histogram_means.mean_ms as histogram_mean_ms
    from delays
    inner join histogram_means
        on
            delays.study_id = histogram_means.study_id
            and delays.run_id = histogram_means.run_id
            and delays.role = histogram_means.role
    where abs(histogram_means.mean_ms - delays.mean_ms) > 0.01 * delays.mean_ms + 0.001
)

select * from final
