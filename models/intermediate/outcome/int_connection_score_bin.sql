{%- set always = ['dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set kinds = {
    'access_technology': 'technologies', 'proximity_class': 'technologies', 'transfer_size_class': 'technologies', 'country': 'countries',
    'ip_version': 'countries'
} -%}
-- Bins of what scores of connections are made of, by group and by the unit of replication: a day, or of networks a month. All are from
-- histograms as they are served, so that no group has fewer hosts than they have.
with

technologies as (
    select * from {{ ref('connection_queuing_delay_day_technology_histogram') }}
),

countries as (
    select * from {{ ref('connection_queuing_delay_day_country_histogram') }}
),

networks as (
    select * from {{ ref('connection_queuing_delay_as_histogram') }}
    where asn > 0
),

rtts as (
    select * from {{ ref('rtt_histogram') }}
    where rtt_statistic in ('minimum', 'maximum')
),

days as (
    select
        'added_delay' as quantity,
        'all' as group_kind,
        'all' as group_value,
        start_date,
        {{ always | join(',\n        ') }},
        bin_index,
        connections
    from technologies
{%- for kind, source in kinds.items() %}

    union all

    select
        'added_delay' as quantity,
        '{{ kind }}' as group_kind,
        {{ kind }} as group_value,
        start_date,
        {{ always | join(',\n        ') }},
        bin_index,
        connections
    from {{ source }}
    where {{ kind }} != 'withheld'
{%- endfor %}

    union all

    select
        case rtt_statistic when 'minimum' then 'idle_rtt' else 'loaded_rtt' end as quantity,
        'all' as group_kind,
        'all' as group_value,
        start_date,
        {{ always | join(',\n        ') }},
        bin_index,
        connections
    from rtts

    union all

    select
        case rtt_statistic when 'minimum' then 'idle_rtt' else 'loaded_rtt' end as quantity,
        'access_technology' as group_kind,
        access_technology as group_value,
        start_date,
        {{ always | join(',\n        ') }},
        bin_index,
        connections
    from rtts
    where access_technology != 'withheld'
),

replicated as (
    select
        quantity,
        group_kind,
        group_value,
        {{ always | join(',\n        ') }},
        cast(start_date as string) as replicate,
        bin_index,
        connections
    from days

    union all

    -- Each day is a group of its own: one replicate, so without an interval.
    select
        quantity,
        'day' as group_kind,
        cast(start_date as string) as group_value,
        {{ always | join(',\n        ') }},
        cast(start_date as string) as replicate,
        bin_index,
        connections
    from days
    where group_kind = 'all'

    union all

    select
        'added_delay' as quantity,
        'network' as group_kind,
        cast(asn as string) as group_value,
        {{ always | join(',\n        ') }},
        cast(start_month as string) as replicate,
        bin_index,
        connections
    from networks
),

final as (
    select
        quantity,
        group_kind,
        group_value,
        {{ always | join(',\n        ') }},
        replicate,
        bin_index,
        cast(sum(connections) as bigint) as connections
    from replicated
    group by quantity, group_kind, group_value, {{ always | join(', ') }}, replicate, bin_index
)

select * from final
