with

parts as (
    select * from {{ ref('stg_lake__workload_part') }}
),

studies as (
    select * from {{ ref('int_study') }}
),

-- Two files may describe the same study; a part in both counts once.
ranked as (
    select
        *,
        row_number() over (partition by study_id, workload, part_number order by source_hash) as preference
    from parts
),

final as (
    select
        ranked.study_id,
        ranked.workload,
        ranked.part_number,
        ranked.direction,
        ranked.sessions,
        ranked.flow_length,
        ranked.interarrival_distribution,
        ranked.interarrival_mean_s,
        ranked.size_distribution,
        ranked.size_shape,
        ranked.size_scale_bytes,
        ranked.size_mean_bytes,
        ranked.stated_mean_flows,
        studies.synthetic
    from ranked
    inner join studies
        on ranked.study_id = studies.study_id
    where ranked.preference = 1
)

select * from final
