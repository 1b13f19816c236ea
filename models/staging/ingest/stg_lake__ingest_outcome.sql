with

source as (
    select * from {{ source('lake', 'ingest_outcome') }}
),

final as (
    select
        source_path,
        content_hash,
        decoder_version,
        size_bytes,
        modified_ns,
        compression,
        format,
        status,
        duplicate_of,
        part_of,
        records_read,
        records_refused,
        refused_by_reason,
        reason,
        message,
        fault_offset_bytes,
        started_ns,
        duration_ms
    from source
)

select * from final
