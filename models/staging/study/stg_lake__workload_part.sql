with

source as (
    select * from {{ source('lake', 'workload_part') }}
),

final as (
    select
        source_hash,
        decoder_version,
        study_id,
        workload,
        part_number,
        direction,
        sessions,
        flow_length,
        interarrival_distribution,
        interarrival_mean_s,
        size_distribution,
        size_shape,
        size_scale_bytes,
        size_mean_bytes,
        stated_mean_flows
    from source
)

select * from final
