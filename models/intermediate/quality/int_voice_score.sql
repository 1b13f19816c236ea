-- E-model score of the packets that were played, for each interval and for the whole window (interval_number -1).
with

streams as (
    select * from {{ ref('int_voice_stream') }}
),

intervals as (
    select * from {{ ref('int_voice_interval') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
),

class_ranges as (
    select * from {{ ref('int_quality_class_range') }}
    where bound_of = 'mos'
),

models as (
    select
        qoe_model_id,
        max(case when parameter = 'equipment' then parameter_value end) as equipment,
        max(case when parameter = 'robustness' then parameter_value end) as robustness
    from parameters
    group by qoe_model_id
    having max(case when parameter = 'buffer' then 1 else 0 end) = 1
),

of_window as (
    select
        study_id,
        run_id,
        ssrc,
        qoe_model_id,
        cast(-1 as bigint) as interval_number,
        max(packet_basis) as packet_basis,
        cast(sum(packets) as bigint) as packets,
        cast(sum(lost_packets) as bigint) as lost_packets,
        cast(sum(discarded_packets) as bigint) as discarded_packets,
        cast(sum(loss_runs_of_stream) as bigint) as loss_runs,
        cast(sum(timed_packets) as bigint) as timed_packets,
        cast(sum(delay_sum_ns) as decimal(38, 0)) as delay_sum_ns
    from intervals
    group by
        study_id,
        run_id,
        ssrc,
        qoe_model_id
),

counted as (
    select
        study_id,
        run_id,
        ssrc,
        qoe_model_id,
        interval_number,
        packet_basis,
        packets,
        lost_packets,
        discarded_packets,
        loss_runs,
        timed_packets,
        delay_sum_ns
    from intervals
    union all
    select * from of_window
),

-- A stream without known packets has a row with the reason.
of_streams as (
    select
        streams.study_id,
        streams.run_id,
        streams.ssrc,
        streams.told_by,
        models.qoe_model_id,
        models.equipment,
        models.robustness,
        runs.rtt_ms / 2 as base_delay_ms,
        coalesce(counted.interval_number, -1) as interval_number,
        counted.packet_basis,
        coalesce(counted.packets, 0) as packets,
        counted.lost_packets,
        counted.discarded_packets,
        counted.loss_runs,
        cast(counted.lost_packets as double) / counted.packets as lost_ratio,
        cast(counted.discarded_packets as double) / counted.packets as discarded_ratio,
        cast(counted.lost_packets + counted.discarded_packets as double) / counted.packets as unplayed_ratio,
        {{ burst_ratio('counted.packets', '(counted.lost_packets + counted.discarded_packets)', 'counted.loss_runs') }} as burst_ratio,
        case
            when counted.timed_packets > 0 then cast(counted.delay_sum_ns as double) / counted.timed_packets / 1000000
        end as queuing_delay_mean_ms
    from streams
    inner join runs
        on
            streams.study_id = runs.study_id
            and streams.run_id = runs.run_id
    cross join models
    left join counted
        on
            streams.study_id = counted.study_id
            and streams.run_id = counted.run_id
            and streams.ssrc = counted.ssrc
            and models.qoe_model_id = counted.qoe_model_id
),

impaired as (
    select
        *,
        base_delay_ms + queuing_delay_mean_ms as one_way_delay_ms,
        {{ delay_impairment('(base_delay_ms + queuing_delay_mean_ms)') }} as delay_value,
        {{ effective_equipment_impairment('unplayed_ratio', 'burst_ratio', 'equipment', 'robustness') }} as loss_value
    from of_streams
),

rated as (
    select
        study_id,
        run_id,
        ssrc,
        told_by,
        qoe_model_id,
        interval_number,
        packet_basis,
        packets,
        lost_packets,
        discarded_packets,
        loss_runs,
        lost_ratio,
        discarded_ratio,
        unplayed_ratio,
        case when packets > 0 then burst_ratio end as burst_ratio,
        base_delay_ms,
        queuing_delay_mean_ms,
        one_way_delay_ms,
        -- greatest() ignores nulls: without a delay, the impairment would not be null.
        case when one_way_delay_ms is not null then delay_value end as delay_impairment,
        case when packets > 0 then loss_value end as loss_impairment,
        case
            -- Nothing was played.
            when packets > 0 and unplayed_ratio = 1 then cast(0 as double)
            when one_way_delay_ms is not null then {{ default_rating() }} - delay_value - loss_value
        end as transmission_rating,
        case
            when told_by = 'none' then 'the packets of several streams of one flow cannot be told apart'
            when packets = 0 then 'no queue log or pair of captures before and after the queue shows its packets'
            when one_way_delay_ms is null and unplayed_ratio < 1 then 'the delay of no played packet is known'
        end as score_null_reason
    from impaired
),

with_mos as (
    select
        *,
        case when transmission_rating is not null then {{ mos_of_rating('transmission_rating') }} end as mos
    from rated
),

final as (
    select
        with_mos.*,
        class_ranges.quality_class,
        with_mos.unplayed_ratio > 0.2 or with_mos.burst_ratio > 2 as is_extrapolated
    from with_mos
    left join class_ranges
        on
            with_mos.qoe_model_id = class_ranges.qoe_model_id
            and {{ is_in_range('with_mos.mos', 'class_ranges') }}
)

select * from final
