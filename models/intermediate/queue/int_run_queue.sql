-- Queues in a run's log, and which of them is the bottleneck. Marts of a run's queue cover only the bottleneck, because a packet that
-- passes two queues would count twice.
with

queue_logs as (
    select * from {{ ref('int_run_queue_log') }}
),

runs as (
    select * from {{ ref('int_run_given') }}
),

queues as (
    select * from {{ ref('stg_lake__queue') }}
),

-- A log may know a device only by its number. A manifest then uses that number as the name.
called as (
    select
        source_hash,
        queue_number,
        coalesce(interface_name, {{ plain_text('interface_index') }}) as interface_name,
        handle,
        enqueue_events,
        dequeue_events,
        drop_events
    from queues
),

named as (
    select
        queue_logs.study_id,
        queue_logs.run_id,
        queue_logs.source_hash,
        called.queue_number,
        called.interface_name,
        called.handle,
        called.enqueue_events,
        called.dequeue_events,
        called.drop_events,
        runs.bottleneck_interface is not null or runs.bottleneck_handle is not null as is_manifest_naming,
        coalesce(
            (runs.bottleneck_interface is not null or runs.bottleneck_handle is not null)
            and (runs.bottleneck_interface is null or runs.bottleneck_interface = called.interface_name)
            and (runs.bottleneck_handle is null or runs.bottleneck_handle = called.handle),
            false
        ) as is_named
    from queue_logs
    inner join called
        on queue_logs.source_hash = called.source_hash
    inner join runs
        on
            queue_logs.study_id = runs.study_id
            and queue_logs.run_id = runs.run_id
),

ranked as (
    select
        *,
        count(*) over (partition by study_id, run_id) as queues,
        max(case when is_named then 1 else 0 end) over (partition by study_id, run_id) = 1 as is_found,
        row_number() over (
            partition by study_id, run_id
            order by case when is_named then 0 else 1 end, dequeue_events desc, queue_number asc
        ) as preference
    from named
),

final as (
    select
        study_id,
        run_id,
        source_hash,
        queue_number,
        interface_name,
        handle,
        enqueue_events,
        dequeue_events,
        drop_events,
        preference = 1 as is_bottleneck,
        case when preference = 1 then 'bottleneck' else 'queue ' || {{ plain_text('queue_number') }} end
        || coalesce(' (' || interface_name || ')', '') as queue_place,
        case
            when is_found then 'manifest'
            when is_manifest_naming then 'busiest_not_as_named'
            when queues = 1 then 'only_queue'
            else 'busiest'
        end as bottleneck_basis
    from ranked
)

select * from final
