-- Runs that differ only in their repetition have the same configuration. Its name always contains the dimensions below. Any other dimension
-- (a text or a whole number) appears only if it is set, so existing names do not change when a dimension is added. The label
-- of the opposite link is escaped where it is made, because the slash of its bit/s stays.
{%- set in_every_name = [
    'study_id', 'workload', 'direction', 'bandwidth_bps', 'rtt_ms', 'aqm', 'queue_size_bdp', 'queue_size_bytes', 'queue_limit_packets', 'queue_label',
    'congestion_control', 'application', 'rival_application', 'start_order', 'synthetic',
] %}
with

runs as (
    select * from {{ ref('int_run_described') }}
),

named as (
    select
        *,
        {{ id_part('study_id') }}
        || '/' || {{ id_part('application', 'tcp') }}
        || case when rival_application is null then '' else '/rival_application=' || {{ id_part('rival_application') }} end
        || '/workload=' || {{ id_part('workload') }}
        || '/direction=' || coalesce(direction, 'none')
        || '/bandwidth_bps=' || coalesce({{ plain_text('bandwidth_bps') }}, 'none')
        || '/rtt_ms=' || coalesce({{ plain_text('rtt_ms') }}, 'none')
        || '/aqm=' || {{ id_part('aqm') }}
        || '/queue_size_bdp=' || coalesce({{ plain_text('queue_size_bdp') }}, 'none')
        || '/queue_size_bytes=' || coalesce({{ plain_text('queue_size_bytes') }}, 'none')
        || case when queue_limit_packets is null then '' else '/queue_limit_packets=' || {{ plain_text('queue_limit_packets') }} end
        || '/congestion_control=' || {{ id_part('congestion_control', 'none') }}
        || '/start_order=' || start_order
        {%- for column in dimension_names('configuration') if column not in in_every_name %}
            {%- set text = column if column == 'opposite_link' else id_part('cast(' ~ column ~ ' as string)') %}
            || case when {{ column }} is null then '' else '/{{ column }}=' || {{ text }} end
        {%- endfor %} as configuration_id
    from runs
),

final as (
    select
        study_id,
        run_id,
        configuration_id,
        cast(
            row_number()
                over (
                    partition by configuration_id
                    order by
                        case when start_ns is null then 1 else 0 end,
                        start_ns,
                        run_id
                )
            as bigint
        ) as run_number
    from named
)

select * from final
