{%- set always = ['dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set kinds = {
    'all': 'technologies', 'access_technology': 'technologies', 'proximity_class': 'technologies', 'transfer_size_class': 'technologies',
    'country': 'countries', 'ip_version': 'countries'
} -%}
{%- set group = ['dataset', 'synthetic', 'rtt_basis', 'sample_basis', 'group_kind', 'group_value'] -%}
{%- set percentiles = [50, 75, 90, 95, 99] -%}
{%- set quantities = ['added_delay', 'loaded_rtt', 'idle_rtt'] -%}
-- Scores of connections in the wild, by group of connections and by percentile: the median over days of the day's percentile.
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
    select
        *,
        case rtt_statistic when 'minimum' then 'idle_rtt' else 'loaded_rtt' end as quantity
    from {{ ref('connection_rtt_histogram') }}
    where rtt_statistic in ('minimum', 'maximum')
),

rtts_of_networks as (
    select
        *,
        case rtt_statistic when 'minimum' then 'idle_rtt' else 'loaded_rtt' end as quantity
    from {{ ref('connection_rtt_as_histogram') }}
    where asn > 0
),

interval_ranks as (
    select * from {{ ref('median_interval_rank') }}
),

-- All bins come from the served histograms, so no group has fewer hosts than they do.
days as (
    {%- for kind, source in kinds.items() %}
        {%- set value = "'all'" if kind == 'all' else kind %}
        {%- set first = loop.first %}
        {%- for quantity, rows in [("'added_delay' as quantity", source), ('quantity', 'rtts')] %}
            {%- if not first or not loop.first %}

                union all
            {% endif %}
            select
                {{ quantity }},
                '{{ kind }}' as group_kind,
                {{ value }} as group_value,
                start_date,
                {{ always | join(',\n                ') }},
                bin_index,
                connections
            from {{ rows }}
            where {{ value }} != 'withheld'
        {%- endfor %}
    {%- endfor %}
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

    -- Each day is a separate group with one replicate, so it has no interval.
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

    {%- for quantity, rows in [("'added_delay' as quantity", 'networks'), ('quantity', 'rtts_of_networks')] %}

        union all

        select
            {{ quantity }},
            'network' as group_kind,
            cast(asn as string) as group_value,
            {{ always | join(',\n            ') }},
            cast(start_month as string) as replicate,
            bin_index,
            connections
        from {{ rows }}
    {%- endfor %}
),

bins as (
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
),

cumulated as (
    select
        *,
        sum(connections) over (
            partition by quantity, {{ group | join(', ') }}, replicate
            order by bin_index
            rows between unbounded preceding and current row
        ) as connections_up_to_bin,
        sum(connections) over (partition by quantity, {{ group | join(', ') }}, replicate) as connections_of_replicate
    from bins
),

percentiles as (
    {%- for percentile in percentiles %}
        select {{ percentile }} as percentile
        {%- if not loop.last %}
            union all
        {%- endif %}
    {%- endfor %}
),

of_replicates as (
    select
        quantity,
        {{ group | join(',\n        ') }},
        replicate,
        cast(max(connections_of_replicate) as bigint) as connections,
        {%- for percentile in percentiles %}
            min(
                case when connections_up_to_bin >= {{ quantile_rank(percentile * 10, 'connections_of_replicate') }} then bin_index end
            ) as bin_index_{{ percentile }}
            {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from cumulated
    group by quantity, {{ group | join(', ') }}, replicate
),

of_percentiles as (
    select
        of_replicates.quantity,
        {%- for column in group %}
            of_replicates.{{ column }},
        {%- endfor %}
        of_replicates.replicate,
        percentiles.percentile,
        of_replicates.connections,
        case percentiles.percentile
            {%- for percentile in percentiles %}
                when {{ percentile }} then of_replicates.bin_index_{{ percentile }}
            {%- endfor %}
        end as bin_index
    from of_replicates
    cross join percentiles
),

replicate_values as (
    select
        quantity,
        {{ group | join(',\n        ') }},
        replicate,
        percentile,
        connections,
        {{ bin_midpoint_ms('bin_index') }} as replicate_ms
    from of_percentiles
),

ordered as (
    select
        *,
        row_number() over (
            partition by quantity, {{ group | join(', ') }}, percentile
            order by replicate_ms, replicate
        ) as place,
        count(*) over (partition by quantity, {{ group | join(', ') }}, percentile) as replicates
    from replicate_values
),

summarised as (
    select
        ordered.quantity,
        {%- for column in group %}
            ordered.{{ column }},
        {%- endfor %}
        ordered.percentile,
        max(ordered.replicates) as replicates,
        cast(sum(ordered.connections) as bigint) as connections,
        median(ordered.replicate_ms) as median_ms,
        max(case when ordered.place = interval_ranks.lower_rank then ordered.replicate_ms end) as lower_ms,
        max(case when ordered.place = interval_ranks.upper_rank then ordered.replicate_ms end) as upper_ms
    from ordered
    left join interval_ranks
        on ordered.replicates = interval_ranks.runs
    group by
        ordered.quantity,
        {%- for column in group %}
            ordered.{{ column }},
        {%- endfor %}
        ordered.percentile
),

together as (
    select
        {{ group | join(',\n        ') }},
        percentile,
        max(case when quantity = 'added_delay' then replicates end) as replicates,
        max(case when quantity = 'added_delay' then connections end) as connections,
        {%- for quantity in quantities %}
            max(case when quantity = '{{ quantity }}' then median_ms end) as {{ quantity }}_ms,
            max(case when quantity = '{{ quantity }}' then lower_ms end) as {{ quantity }}_lower_ms,
            max(case when quantity = '{{ quantity }}' then upper_ms end) as {{ quantity }}_upper_ms
            {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from summarised
    group by {{ group | join(', ') }}, percentile
    having max(case when quantity = 'added_delay' then 1 else 0 end) = 1
),

{{ scales_of_round_trips('together', group + ['percentile'], 'idle_rtt_ms') }},

ranked as (
    select
        *,
        rank() over (
            partition by dataset, synthetic, rtt_basis, sample_basis, group_kind, percentile
            order by added_delay_ms
        ) as group_rank
    from together
),

final as (
    select
        {%- for column in group %}
            ranked.{{ column }},
        {%- endfor %}
        cast(ranked.percentile as double) as percentile,
        case ranked.group_kind when 'network' then 'month' else 'day' end as replication_unit,
        cast(ranked.replicates as bigint) as replicates,
        ranked.connections,
        {{ scores_of_round_trips() }},
        'AIM also needs jitter, loss and download rate, which connections do not have' as aim_null_reason,
        {{ median_interval_columns(
            'ranked.added_delay_lower_ms', 'ranked.replicates', unit="case ranked.group_kind when 'network' then 'month' else 'day' end"
        ) }},
        {{ ranks_of_groups() }}
    from ranked
    {{ joins_of_scores(group) }}
)

select * from final
