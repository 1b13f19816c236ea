with

series_values as (
    select * from {{ ref('stg_lake__series') }}
),

series_files as (
    select * from {{ ref('int_run_series_file') }}
),

load_spans as (
    select * from {{ ref('int_run_load_span') }}
),

final as (
    select
        series_files.study_id,
        series_files.run_id,
        series_files.measurement,
        series_values.series_number,
        series_values.sample_number,
        series_values.series_name,
        series_values.flow_name,
        series_values.role,
        series_values.direction as flow_direction,
        series_values.metric as series_metric,
        series_values.unit,
        series_values.sample_basis,
        series_values.time_ns,
        series_values.time_s,
        series_values.duration_s,
        series_values.value,
        case
            when series_values.sample_basis = 'total' then 'whole'
            when load_spans.run_id is null then 'unknown'
            when series_values.time_ns is not null and load_spans.load_start_ns is not null
                then
                    case
                        when series_values.time_ns < load_spans.load_start_ns then 'idle'
                        when series_values.time_ns <= load_spans.load_end_ns then 'loaded'
                        else 'after'
                    end
            when series_values.time_s is null or load_spans.load_start_s is null then 'unknown'
            when series_values.time_s < load_spans.load_start_s then 'idle'
            when series_values.time_s <= load_spans.load_end_s then 'loaded'
            else 'after'
        end as phase
    from series_values
    inner join series_files
        on series_values.source_hash = series_files.source_hash
    left join load_spans
        on
            series_files.study_id = load_spans.study_id
            and series_files.run_id = load_spans.run_id
            and series_files.source_hash = load_spans.source_hash
)

select * from final
