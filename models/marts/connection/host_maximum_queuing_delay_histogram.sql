{%- set cell = ['period_kind', 'period', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis', 'access_technology'] -%}
with

counted as (
    select * from {{ ref('int_host_period_count') }}
    where access_technology != 'all'
),

enough as (
    select {{ cell | join(', ') }}
    from counted
    group by {{ cell | join(', ') }}
    having sum(hosts) >= {{ minimum_hosts() }}
),

final as (
    select
        {%- for column in cell %}
            counted.{{ column }},
        {%- endfor %}
        counted.bin_index,
        {{ bin_lower_us('counted.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('counted.bin_index') }} as bin_upper_us,
        counted.hosts,
        true as is_upper_bound
    from counted
    inner join enough
        on {{ same_columns('counted', 'enough', cell) }}
)

select * from final
