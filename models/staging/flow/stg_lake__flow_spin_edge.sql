with

source as (
    select * from {{ source('lake', 'flow_spin_edge') }}
),

final as (
    select
        source_hash,
        decoder_version,
        flow_id,
        direction,
        edge_number,
        edge_ns,
        spin,
        since_edge_ns,
        since_other_edge_ns,
        packets_before,
        longest_silence_ns
    from source
)

select * from final
