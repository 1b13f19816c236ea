{%- set cell = ['period_kind', 'period', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis', 'access_technology'] -%}
with

hosts as (
    select * from {{ ref('int_host_period') }}
),

-- One row a bin of the hosts' greatest delay, with the sums from which shares and their variance between hosts follow.
final as (
    select
        {{ cell | join(',\n        ') }},
        {{ log_linear_bin('maximum_queuing_delay_us') }} as bin_index,
        count(*) as hosts,
        cast(sum(connections) as bigint) as connections,
        cast(sum(connections * connections) as bigint) as connections_squared,
    {%- for number in (1, 2, 3) %}
        count(*) filter (where connections_above_{{ number }} > 0) as hosts_above_{{ number }},
        cast(sum(connections_above_{{ number }}) as bigint) as connections_above_{{ number }},
        cast(sum(connections * connections_above_{{ number }}) as bigint) as connections_times_above_{{ number }},
        cast(sum(connections_above_{{ number }} * connections_above_{{ number }}) as bigint) as connections_above_{{ number }}_squared
        {{- '' if loop.last else ',' }}
    {%- endfor %}
    from hosts
    group by {{ cell | join(', ') }}, bin_index
)

select * from final
