-- State of the queue before the freezes of a run, and before its calm seconds.
with

moments as (
    select * from {{ ref('int_call_moment_queue') }}
    where packets > 0
),

spans as (
    select * from {{ ref('int_call_freeze') }}
    where run_id is not null
),

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

-- A freeze is counted when it ends, so it may be longer than its span, but a stream is not frozen for longer than it was watched.
streams as (
    select
        study_id,
        run_id,
        stream_id,
        max(freeze_basis) as freeze_basis,
        coalesce(cast(sum(case when is_freeze then freezes end) as bigint), 0) as freezes,
        least({{ ordered_sum('frozen_ms') }}, {{ ordered_sum('span_ms') }}) as frozen_ms
    from spans
    group by
        study_id,
        run_id,
        stream_id
),

frozen as (
    select
        study_id,
        run_id,
        max(freeze_basis) as freeze_basis,
        count(*) as video_streams,
        cast(sum(freezes) as bigint) as freezes,
        {{ ordered_sum('frozen_ms') }} as frozen_ms
    from streams
    group by
        study_id,
        run_id
),

compared as (
    select
        study_id,
        run_id,
        count(case when is_freeze then 1 end) as freezes_compared,
        count(case when not is_freeze then 1 end) as calm_seconds,
        {{ ordered_mean('case when is_freeze then queuing_delay_mean_ms end') }} as queuing_delay_before_freeze_ms,
        {{ ordered_mean('case when not is_freeze then queuing_delay_mean_ms end') }} as queuing_delay_calm_ms,
        {{ ordered_mean('case when is_freeze then dropped_ratio end') }} as dropped_before_freeze_ratio,
        {{ ordered_mean('case when not is_freeze then dropped_ratio end') }} as dropped_calm_ratio
    from moments
    group by
        study_id,
        run_id
),

final as (
    select
        frozen.study_id,
        frozen.run_id,
        configurations.configuration_id,
        frozen.freeze_basis,
        frozen.video_streams,
        frozen.freezes,
        frozen.frozen_ms,
        coalesce(compared.freezes_compared, 0) as freezes_compared,
        coalesce(compared.calm_seconds, 0) as calm_seconds,
        compared.queuing_delay_before_freeze_ms,
        compared.queuing_delay_calm_ms,
        compared.queuing_delay_before_freeze_ms - compared.queuing_delay_calm_ms as queuing_delay_difference_ms,
        compared.dropped_before_freeze_ratio,
        compared.dropped_calm_ratio,
        compared.dropped_before_freeze_ratio - compared.dropped_calm_ratio as dropped_difference_ratio,
        case
            when compared.queuing_delay_before_freeze_ms is not null and compared.queuing_delay_calm_ms is not null then null
            when frozen.freezes = 0 then 'no freeze'
            when coalesce(compared.freezes_compared, 0) = 0 then 'no freeze whose two seconds before have packets of a queue log'
            else 'no calm second'
        end as difference_null_reason
    from frozen
    inner join configurations
        on
            frozen.study_id = configurations.study_id
            and frozen.run_id = configurations.run_id
    left join compared
        on
            frozen.study_id = compared.study_id
            and frozen.run_id = compared.run_id
)

select * from final
