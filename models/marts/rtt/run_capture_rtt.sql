with

flow_directions as (
    select * from {{ ref('int_flow_direction_with_role') }}
),

-- Means are weighted by sample count in whole microseconds, because such a sum does not depend on the order. Extremes are rounded to whole
-- microseconds, and a mean is between them.
summarised as (
    select
        study_id,
        run_id,
        role,
        cast(sum(rtt_samples) as bigint) as rtt_samples,
        cast(min(rtt_min_us) as double) / 1000 as rtt_min_ms,
        {{
            clamped(
                'cast(sum(cast(round(rtt_avg_us * rtt_samples) as bigint)) as double) / nullif(sum(rtt_samples), 0)',
                'cast(min(rtt_min_us) as double)',
                'cast(max(rtt_max_us) as double)',
            )
        }} / 1000 as rtt_avg_ms,
        cast(max(rtt_max_us) as double) / 1000 as rtt_max_ms,
        cast(sum(cast(round(srtt_avg_us * rtt_samples) as bigint)) as double) / nullif(sum(rtt_samples), 0) / 1000 as srtt_avg_ms,
        cast(min(handshake_rtt_us) as double) / 1000 as handshake_rtt_ms,
        cast(sum(retransmitted_packets) as bigint) as retransmitted_packets
    from flow_directions
    where
        measurement = 'capture_before'
        and role = 'tcp'
        and is_data_direction
    group by study_id, run_id, role
),

final as (
    select
        summarised.study_id,
        summarised.run_id,
        summarised.role,
        'raw' as rtt_basis,
        'rtt_samples' as sample_basis,
        'before' as capture_point,
        summarised.rtt_samples,
        summarised.rtt_min_ms,
        summarised.rtt_avg_ms,
        summarised.rtt_max_ms,
        summarised.srtt_avg_ms,
        summarised.handshake_rtt_ms,
        summarised.retransmitted_packets
    from summarised
)

select * from final
