-- Packets of a stream that each model's receiver plays, by interval of the model (sojourn_statistics.quality.playout).
with

packets as (
    select * from {{ ref('int_voice_packet') }}
),

parameters as (
    select * from {{ ref('qoe_model_parameter') }}
),

models as (
    select
        qoe_model_id,
        max(case when parameter = 'buffer' then cast(parameter_value * 1000000 as bigint) end) as buffer_ns,
        max(case when parameter = 'adaptation' then cast(parameter_value * 1000000 as bigint) end) as adaptation_ns,
        max(case when parameter = 'interval' then cast(parameter_value * 1000000 as bigint) end) as interval_ns
    from parameters
    group by qoe_model_id
    having max(case when parameter = 'buffer' then 1 else 0 end) = 1
),

placed as (
    select
        packets.study_id,
        packets.run_id,
        packets.ssrc,
        packets.packet_basis,
        packets.packet_index,
        packets.offset_ns,
        packets.is_lost,
        packets.delay_ns,
        models.qoe_model_id,
        models.buffer_ns,
        models.interval_ns,
        {{ integer_divide('packets.offset_ns', 'models.interval_ns') }} as interval_number,
        min(packets.delay_ns) over (
            partition by
                packets.study_id, packets.run_id, packets.ssrc, models.qoe_model_id,
                {{ integer_divide('packets.offset_ns', 'models.adaptation_ns') }}
        ) as least_delay_ns
    from packets
    cross join models
),

judged as (
    select
        *,
        coalesce(delay_ns > least_delay_ns + buffer_ns, false) as is_discarded,
        is_lost or coalesce(delay_ns > least_delay_ns + buffer_ns, false) as is_unplayed
    from placed
),

followed as (
    select
        *,
        lag(is_unplayed) over (
            partition by study_id, run_id, ssrc, qoe_model_id
            order by offset_ns, packet_index
        ) as follows_unplayed,
        lag(is_unplayed) over (
            partition by study_id, run_id, ssrc, qoe_model_id, interval_number
            order by offset_ns, packet_index
        ) as follows_unplayed_in_interval
    from judged
),

final as (
    select
        study_id,
        run_id,
        ssrc,
        qoe_model_id,
        interval_number,
        max(interval_ns) as interval_ns,
        max(packet_basis) as packet_basis,
        count(*) as packets,
        count(case when is_lost then 1 end) as lost_packets,
        count(case when is_discarded then 1 end) as discarded_packets,
        count(case when is_unplayed and not coalesce(follows_unplayed, false) then 1 end) as loss_runs_of_stream,
        count(case when is_unplayed and not coalesce(follows_unplayed_in_interval, false) then 1 end) as loss_runs,
        count(case when not is_unplayed then delay_ns end) as timed_packets,
        cast(sum(cast(case when not is_unplayed then delay_ns end as decimal(19, 0))) as decimal(38, 0)) as delay_sum_ns
    from followed
    group by
        study_id,
        run_id,
        ssrc,
        qoe_model_id,
        interval_number
)

select * from final
