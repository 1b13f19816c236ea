-- Video frames in the RTP streams of a run's application. A frame arrives when its packet with the marker bit arrives. A stream with fewer
-- than five markers per second has no frames, because in audio the marker begins a talk spurt (RFC 3551 section 4.1).
with

packets as (
    select * from {{ ref('int_voice_packet') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

streams as (
    select
        study_id,
        run_id,
        ssrc,
        count(case when is_marked then 1 end) as marks,
        max(offset_ns) - min(offset_ns) as span_ns
    from packets
    group by
        study_id,
        run_id,
        ssrc
),

arrived as (
    select
        packets.study_id,
        packets.run_id,
        packets.ssrc,
        min(packets.packet_index) as packet_index,
        runs.window_start_ns + packets.offset_ns + packets.delay_ns as arrival_ns
    from packets
    inner join streams
        on
            packets.study_id = streams.study_id
            and packets.run_id = streams.run_id
            and packets.ssrc = streams.ssrc
    inner join runs
        on
            packets.study_id = runs.study_id
            and packets.run_id = runs.run_id
    where
        packets.is_marked
        and packets.delay_ns is not null
        and streams.marks * 1000000000 >= 5 * streams.span_ns
    group by
        packets.study_id,
        packets.run_id,
        packets.ssrc,
        runs.window_start_ns + packets.offset_ns + packets.delay_ns
),

followed as (
    select
        *,
        lag(arrival_ns) over (
            partition by study_id, run_id, ssrc
            order by arrival_ns, packet_index
        ) as previous_ns
    from arrived
),

spaced as (
    select
        *,
        arrival_ns - previous_ns as gap_ns
    from followed
),

averaged as (
    select
        *,
        avg(cast(gap_ns as double)) over (
            partition by study_id, run_id, ssrc
            order by arrival_ns, packet_index
            rows between 30 preceding and 1 preceding
        ) as mean_gap_before_ns,
        count(gap_ns) over (
            partition by study_id, run_id, ssrc
            order by arrival_ns, packet_index
            rows between 30 preceding and 1 preceding
        ) as gaps_before
    from spaced
),

final as (
    select
        study_id,
        run_id,
        ssrc,
        packet_index,
        arrival_ns,
        previous_ns,
        gap_ns,
        case when gaps_before >= 5 then mean_gap_before_ns end as mean_gap_ns
    from averaged
)

select * from final
