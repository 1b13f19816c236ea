-- Time during which a run's link was loaded: from the first to the last time at which a bulk flow moved data, as its tool saw it. If a run
-- has no bulk TCP flow, its application is the load. Each file also has its own span, in s after the start of its test, for files without
-- UTC times.
with

series_values as (
    select * from {{ ref('stg_lake__series') }}
    where
        metric = 'rate_bps'
        and flow_name is not null
        and sample_basis in ('intervals', 'samples', 'interpolated')
        and value > 0
        and time_s is not null
),

series_files as (
    select * from {{ ref('int_run_series_file') }}
),

spans as (
    select
        series_files.study_id,
        series_files.run_id,
        series_files.source_hash,
        series_values.role,
        min(series_values.time_ns - cast(coalesce(series_values.duration_s, 0) * 1000000000 as bigint)) as first_ns,
        max(series_values.time_ns) as last_ns,
        min(series_values.time_s - coalesce(series_values.duration_s, 0)) as first_s,
        max(series_values.time_s) as last_s
    from series_values
    inner join series_files
        on series_values.source_hash = series_files.source_hash
    group by series_files.study_id, series_files.run_id, series_files.source_hash, series_values.role
),

ranked as (
    select
        *,
        rank() over (
            partition by study_id, run_id
            order by case when role = 'tcp' then 0 else 1 end
        ) as preference
    from spans
    where role in ('tcp', 'app')
),

loads as (
    select
        study_id,
        run_id,
        min(first_ns) as load_start_ns,
        max(last_ns) as load_end_ns
    from ranked
    where preference = 1
    group by study_id, run_id
),

final as (
    select
        series_files.study_id,
        series_files.run_id,
        series_files.source_hash,
        loads.load_start_ns,
        loads.load_end_ns,
        ranked.first_s as load_start_s,
        ranked.last_s as load_end_s
    from series_files
    inner join loads
        on
            series_files.study_id = loads.study_id
            and series_files.run_id = loads.run_id
    left join ranked
        on
            series_files.study_id = ranked.study_id
            and series_files.run_id = ranked.run_id
            and series_files.source_hash = ranked.source_hash
            and ranked.preference = 1
)

select * from final
