-- Internet Quality Barometer score of each set of tests, at each percentile.
with

requirements as (
    select * from {{ ref('int_iqb_requirement') }}
),

outcomes as (
    select * from {{ ref('stg_lake__ingest_outcome') }}
    where format = 'network_percentiles'
),

-- Two documents with the same content but different names are separate.
named as (
    select distinct
        content_hash,
        regexp_replace(regexp_replace(source_path, '/[^/]*$', ''), '^.*/', '') as folder_name,
        regexp_replace(source_path, '^.*/', '') as file_name
    from outcomes
),

scored as (
    select
        source_hash,
        percentile,
        max(qoe_model_id) as qoe_model_id,
        max(case when requirement != 'upload_throughput_mbps' then tests end) as tests,
        count(case when is_met is null then 1 end) as requirements_unknown,
        count(case when not is_met then 1 end) as requirements_unmet,
        -- Rounded to twelve digits, because the last bits of a sum depend on the order.
        round(sum(case when is_met then share else 0 end), 12) as score
    from requirements
    group by
        source_hash,
        percentile
),

-- The requirement that costs most binds; of equal ones, the first by name.
unmet as (
    select
        source_hash,
        percentile,
        use_case,
        requirement,
        row_number() over (
            partition by source_hash, percentile
            order by share desc, use_case asc, requirement asc
        ) as place
    from requirements
    where not is_met
),

described as (
    select
        scored.source_hash,
        scored.percentile,
        named.folder_name,
        named.file_name,
        scored.qoe_model_id,
        scored.tests,
        scored.requirements_unmet,
        unmet.use_case as binding_use_case,
        unmet.requirement as binding_requirement,
        case when scored.requirements_unknown = 0 then scored.score end as iqb_score,
        case when scored.requirements_unknown > 0 then 'a required quantity has no such percentile' end as score_null_reason
    from scored
    inner join named
        on scored.source_hash = named.content_hash
    left join unmet
        on
            scored.source_hash = unmet.source_hash
            and scored.percentile = unmet.percentile
            and unmet.place = 1
),

ranked as (
    select
        *,
        case
            when iqb_score is not null
                then cast(
                    rank() over (
                        partition by folder_name, percentile
                        order by case when iqb_score is null then 1 else 0 end, iqb_score desc
                    ) as bigint
                )
        end as score_rank
    from described
),

barometer as (
    select
        source_hash,
        folder_name,
        file_name,
        score_rank
    from ranked
    where percentile = 95
),

final as (
    select
        ranked.source_hash,
        ranked.folder_name,
        ranked.file_name,
        ranked.percentile,
        ranked.qoe_model_id,
        ranked.tests,
        ranked.iqb_score,
        ranked.score_null_reason,
        -- The input has percentiles, not tests, so the variation between autonomous systems or hosts is unknown.
        'only percentiles were given, no tests' as interval_null_reason,
        ranked.requirements_unmet,
        ranked.binding_use_case,
        ranked.binding_requirement,
        ranked.score_rank,
        barometer.score_rank as score_rank_at_p95,
        ranked.score_rank != barometer.score_rank as is_rank_changed
    from ranked
    left join barometer
        on
            ranked.source_hash = barometer.source_hash
            and ranked.folder_name = barometer.folder_name
            and ranked.file_name = barometer.file_name
)

select * from final
