{%- set period = ['dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set z = '1.959964' -%}
with

shares as (
    select * from {{ ref('queuing_delay_share') }}
    where
        period_kind = 'all'
        and access_technology = 'all'
),

thresholds as (
    select * from {{ ref('published_share_threshold') }}
),

findings as (
    select * from {{ ref('published_finding') }}
),

-- A share stated below the threshold becomes 1 minus itself, with the ends swapped. Rounding may hide half a printed step.
stated as (
    select
        findings.finding_id,
        findings.reference,
        thresholds.threshold_ms,
        thresholds.counted,
        case when thresholds.is_stated_below then round(1 - findings.stated_high, 9) else findings.stated_low end as stated_low,
        case when thresholds.is_stated_below then round(1 - findings.stated_low, 9) else findings.stated_high end as stated_high,
        coalesce(findings.printed_step, 0) / 2 as half_step
    from findings
    inner join thresholds on findings.finding_id = thresholds.finding_id
),

own as (
    select
        shares.{{ period | join(',\n        shares.') }},
        stated.finding_id,
        stated.reference,
        stated.threshold_ms,
        stated.counted,
        shares.hosts,
        shares.connections,
        case
            when stated.counted = 'hosts' then shares.host_share_above_ratio
            else shares.connection_share_above_ratio
        end as share_above_ratio,
        -- Variance of the ratio estimator over hosts, because a host may have several connections.
        sqrt(greatest(
            shares.connections_above_squared
            - 2 * shares.connection_share_above_ratio * shares.connections_times_above
            + shares.connection_share_above_ratio * shares.connection_share_above_ratio * shares.connections_squared,
            0
        )) / shares.connections as connection_error,
        shares.connections_above,
        stated.stated_low,
        stated.stated_high,
        stated.half_step
    from shares
    inner join stated on shares.threshold_ms = stated.threshold_ms
),

-- At shares of 0 and 1, rounding puts Wilson's bounds beyond them.
bounded as (
    select
        *,
        case
            when counted = 'hosts'
                then
                    least(share_above_ratio, greatest(0, (
                        share_above_ratio + {{ z }} * {{ z }} / (2 * hosts)
                        - {{ z }} * sqrt(share_above_ratio * (1 - share_above_ratio) / hosts + {{ z }} * {{ z }} / (4.0 * hosts * hosts))
                    ) / (1 + {{ z }} * {{ z }} / hosts)))
            when connections_above > 0 then greatest(0, share_above_ratio - {{ z }} * connection_error)
        end as share_above_lower_ratio,
        case
            when counted = 'hosts'
                then
                    greatest(share_above_ratio, least(1, (
                        share_above_ratio + {{ z }} * {{ z }} / (2 * hosts)
                        + {{ z }} * sqrt(share_above_ratio * (1 - share_above_ratio) / hosts + {{ z }} * {{ z }} / (4.0 * hosts * hosts))
                    ) / (1 + {{ z }} * {{ z }} / hosts)))
            when connections_above > 0 then least(1, share_above_ratio + {{ z }} * connection_error)
        end as share_above_upper_ratio
    from own
),

final as (
    select
        {{ period | join(',\n        ') }},
        finding_id,
        reference,
        counted,
        cast(threshold_ms as double) as threshold_ms,
        hosts,
        connections,
        share_above_ratio,
        share_above_lower_ratio,
        share_above_upper_ratio,
        case when share_above_lower_ratio is null then 'no connection is above' end as interval_null_reason,
        (stated_low + stated_high) / 2 as published_share_ratio,
        case
            when share_above_lower_ratio is null then 'cannot tell'
            when share_above_lower_ratio > stated_high + half_step then 'higher'
            when share_above_upper_ratio < stated_low - half_step then 'lower'
            else 'no difference shown'
        end as share_verdict,
        true as is_upper_bound
    from bounded
)

select * from final
