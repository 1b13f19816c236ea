-- A recording is one capture file, or several files that continue one another. Files with the same content are one recording.
with

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
),

run_sources as (
    select * from {{ ref('stg_lake__run_source') }}
),

numbered as (
    select
        *,
        row_number() over (
            partition by content_hash
            order by
                case status when 'ok' then 0 when 'partial' then 1 else 2 end,
                case when duplicate_of is null then 0 else 1 end,
                source_path,
                decoder_version
        ) as place
    from outcomes
    where
        format in ('capture', 'capture_recording')
        and part_of is null
),

-- Several descriptions, such as two manifests of one run, may name the same capture.
numbered_runs as (
    select
        measurement_hash,
        study_id,
        run_id,
        measurement,
        row_number() over (
            partition by measurement_hash
            order by study_id, run_id, measurement, source_hash
        ) as place
    from run_sources
),

in_folders as (
    select
        numbered.*,
        numbered_runs.study_id,
        numbered_runs.run_id,
        numbered_runs.measurement,
        regexp_replace(numbered.source_path, '^.*/', '') as file_name,
        regexp_replace(numbered.source_path, '/[^/]*$', '') as folder
    from numbered
    left join numbered_runs
        on
            numbered.content_hash = numbered_runs.measurement_hash
            and numbered_runs.place = 1
    where numbered.place = 1
),

-- Two folders with the same name are two data sets, which are then named after their full paths.
names as (
    select
        regexp_replace(folder, '^.*/', '') as folder_name,
        count(distinct folder) as folders
    from in_folders
    where run_id is null
    group by regexp_replace(folder, '^.*/', '')
),

final as (
    select
        case
            when in_folders.run_id is not null then concat('study:', in_folders.study_id)
            when names.folders = 1 then concat('captures:', names.folder_name)
            else concat('captures:', in_folders.folder)
        end as dataset,
        in_folders.content_hash as source_hash,
        case
            when in_folders.run_id is null then in_folders.file_name
            else concat(in_folders.run_id, '/', in_folders.file_name)
        end as recording_name,
        in_folders.study_id,
        in_folders.run_id,
        in_folders.measurement,
        in_folders.run_id is null as is_loose,
        case in_folders.measurement
            when 'capture_before' then 'before'
            when 'capture_after' then 'after'
            else 'single'
        end as capture_point,
        coalesce(in_folders.measurement = 'capture_before', false)
        and count(case when in_folders.measurement = 'capture_after' and in_folders.status in ('ok', 'partial') then 1 end) over (
            partition by in_folders.study_id, in_folders.run_id
        ) > 0 as is_repeated,
        in_folders.compression,
        in_folders.size_bytes,
        in_folders.status,
        in_folders.reason,
        in_folders.records_read,
        in_folders.records_refused,
        in_folders.refused_by_reason
    from in_folders
    left join names on regexp_replace(in_folders.folder, '^.*/', '') = names.folder_name
)

select * from final
