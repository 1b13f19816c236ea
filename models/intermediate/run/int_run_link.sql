-- Both directions of each run's link, as its manifest states them. If it states none, only the direction of the bottleneck. The label is
-- a part of ids, in which only the discipline is free text.
with

described_runs as (
    select * from {{ ref('stg_lake__run') }}
),

descriptions as (
    select * from {{ ref('int_run_description_choice') }}
    where is_chosen
),

given_links as (
    select * from {{ ref('stg_lake__run_link') }}
),

runs as (
    select described_runs.*
    from described_runs
    inner join descriptions
        on
            described_runs.study_id = descriptions.study_id
            and described_runs.run_id = descriptions.run_id
            and described_runs.source_hash = descriptions.source_hash
),

stated as (
    select
        given_links.study_id,
        given_links.run_id,
        given_links.direction as link_direction,
        coalesce(given_links.direction = runs.direction, false) as is_bottleneck,
        'manifest' as link_basis,
        given_links.bandwidth_bps as link_bandwidth_bps,
        given_links.delay_ms as link_delay_ms,
        given_links.aqm as link_aqm,
        given_links.queue_size_bytes as link_queue_size_bytes,
        given_links.queue_size_packets as link_queue_limit_packets,
        given_links.queue_size_bdp as link_queue_size_bdp,
        given_links.queue_scheme as link_queue_scheme,
        given_links.queue_interface,
        given_links.queue_handle
    from given_links
    inner join runs
        on
            given_links.study_id = runs.study_id
            and given_links.run_id = runs.run_id
            and given_links.source_hash = runs.source_hash
),

of_runs as (
    select
        runs.study_id,
        runs.run_id,
        runs.direction as link_direction,
        true as is_bottleneck,
        'run' as link_basis,
        runs.bandwidth_bps as link_bandwidth_bps,
        cast(null as double) as link_delay_ms,
        runs.aqm as link_aqm,
        runs.queue_size_bytes as link_queue_size_bytes,
        runs.queue_size_packets as link_queue_limit_packets,
        runs.queue_size_bdp as link_queue_size_bdp,
        runs.queue_scheme as link_queue_scheme,
        runs.bottleneck_interface as queue_interface,
        runs.bottleneck_handle as queue_handle
    from runs
    left join stated
        on
            runs.study_id = stated.study_id
            and runs.run_id = stated.run_id
            and runs.direction = stated.link_direction
    where
        runs.direction is not null
        and stated.run_id is null
),

links as (
    select * from stated
    union all
    select * from of_runs
),

final as (
    select
        study_id,
        run_id,
        link_direction,
        is_bottleneck,
        link_basis,
        link_bandwidth_bps,
        link_delay_ms,
        link_aqm,
        link_queue_size_bytes,
        link_queue_limit_packets,
        link_queue_size_bdp,
        link_queue_scheme,
        queue_interface,
        queue_handle,
        link_direction
        || case when link_bandwidth_bps is null then '' else ' ' || {{ plain_text('link_bandwidth_bps') }} || ' bit/s' end
        || case when link_delay_ms is null then '' else ' ' || {{ plain_text('link_delay_ms') }} || ' ms' end
        || case when link_aqm is null then '' else ' ' || {{ id_part('link_aqm', separators='/ ') }} end
        || case
            when link_queue_limit_packets is null then ''
            else ' ' || {{ plain_text('link_queue_limit_packets') }} || ' packets'
        end
        || case when link_queue_size_bytes is null then '' else ' ' || {{ plain_text('link_queue_size_bytes') }} || ' bytes' end
            as link_label
    from links
)

select * from final
