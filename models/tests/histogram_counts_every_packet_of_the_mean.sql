-- The histogram and the mean delay cover the same packets.
with

histogram as (
    select * from {{ ref('queuing_delay_histogram') }}
),

delays as (
    select * from {{ ref('run_queuing_delay') }}
),

histogram_packets as (
    select
        study_id,
        run_id,
        role,
        sum(packets) as packets
    from histogram
    group by study_id, run_id, role
),

final as (
    select
        delays.study_id,
        delays.run_id,
        delays.role,
        delays.packets,
        histogram_packets.packets as histogram_packets
    from delays
    left join histogram_packets
        on
            delays.study_id = histogram_packets.study_id
            and delays.run_id = histogram_packets.run_id
            and delays.role = histogram_packets.role
    where
        delays.delay_basis = 'queue_sojourn'
        and delays.role != 'all'
        and delays.packets != coalesce(histogram_packets.packets, 0)
)

select * from final
