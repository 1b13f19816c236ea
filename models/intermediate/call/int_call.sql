-- One file of WebRTC statistics is one call. Its run is the one whose manifest is beside the file.
with

polls as (
    select * from {{ ref('stg_lake__call_poll') }}
),

run_sources as (
    select * from {{ ref('int_run_source_usable') }}
    where
        is_usable
        and measurement = 'call_statistics'
),

-- Several descriptions, such as two manifests of one run, may name the same file.
chosen_runs as (
    select
        measurement_hash,
        study_id,
        run_id,
        row_number() over (
            partition by measurement_hash
            order by study_id, run_id
        ) as place
    from run_sources
),

called as (
    select
        source_hash,
        min(case when clock = 'utc' then poll_ns end) as first_poll_ns,
        min(case when clock = 'unset' then poll_ns end) as first_undated_poll_ns
    from polls
    group by source_hash
),

final as (
    select
        called.source_hash,
        chosen_runs.study_id,
        chosen_runs.run_id,
        called.first_poll_ns,
        called.first_undated_poll_ns
    from called
    left join chosen_runs
        on
            called.source_hash = chosen_runs.measurement_hash
            and chosen_runs.place = 1
)

select * from final
