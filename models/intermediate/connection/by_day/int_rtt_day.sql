{%- set kept = ['start_date', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set cell = kept + ['access_technology'] -%}
with

{{ connections_of_days_to_make() }},

counted as (
    select
        {{ cell | join(',\n        ') }},
        inputs_mark,
        rtt_min_us,
        rtt_mean_us,
        rtt_max_us,
        case when client_host_key is not null then client_host_hash end as host_hash
    from connections
    where outcome = 'counted'
),

{{ cell_details('counted', kept, [['access_technology']]) }},

binned as (
    {%- for statistic in ('minimum', 'mean', 'maximum') %}
        {%- if not loop.first %}

            union all
        {% endif %}
        select
            {{ cell | join(',\n        ') }},
            inputs_mark,
            '{{ statistic }}' as rtt_statistic,
            {{ log_linear_bin('rtt_' ~ {'minimum': 'min', 'mean': 'mean', 'maximum': 'max'}[statistic] ~ '_us') }} as bin_index,
            count(*) as connections
        from counted
        {%- if statistic == 'mean' %}
            where rtt_mean_us is not null
        {%- endif %}
        group by {{ cell | join(', ') }}, inputs_mark, rtt_statistic, bin_index
    {%- endfor %}
),

final as (
    select
        binned.start_date,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        {{ served('access_technology', 1, "'withheld'") }} as access_technology,
        binned.rtt_statistic,
        binned.bin_index,
        binned.inputs_mark,
        cast(sum(binned.connections) as bigint) as connections
    from binned
    inner join details
        on
        {%- for column in cell %}
                {% if not loop.first %}and {% endif %}binned.{{ column }} = details.{{ column }}
        {%- endfor %}
    where details.detail_level <= 1
    group by
        binned.start_date,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        {{ served('access_technology', 1, "'withheld'") }},
        binned.rtt_statistic,
        binned.bin_index,
        binned.inputs_mark
)

select * from final
