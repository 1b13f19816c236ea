-- The time and duration of an attempt stay in the lake, because the same input must give the same bytes here.
with

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
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
        fault_offset_bytes
    from outcomes
)

select * from final
