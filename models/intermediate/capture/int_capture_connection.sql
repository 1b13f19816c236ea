-- Same columns as connections in the lake. Each leg is a separate data set, because the two paths are never pooled.
with

legs as (
    select * from {{ ref('int_capture_leg') }}
    where is_loose
),

final as (
    select
        source_hash,
        decoder_version,
        2 * flow_id + case leg when 'responder' then 0 else 1 end as connection_number,
        concat(dataset, ':', leg) as dataset,
        start_ns,
        host_key as client_host_key,
        ip_version,
        'smoothed' as rtt_basis,
        'rtt_samples' as sample_basis,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us,
        sent_bytes
    from legs
)

select * from final
