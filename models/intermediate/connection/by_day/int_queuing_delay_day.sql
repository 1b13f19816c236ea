{%- set kept = ['start_date', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set levels = [['transfer_size_number', 'ip_version'], ['country'], ['proximity_number'], ['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
with

{{ connections_of_days_to_make() }},

counted as (
    select
        {{ cell | join(',\n        ') }},
        inputs_mark,
        queuing_delay_us,
        case when client_host_key is not null then client_host_hash end as host_hash
    from connections
    where outcome = 'counted'
),

{{ cell_details('counted', kept, levels) }},

binned as (
    select
        {{ cell | join(',\n        ') }},
        inputs_mark,
        {{ log_linear_bin('queuing_delay_us') }} as bin_index,
        count(*) as connections
    from counted
    group by {{ cell | join(', ') }}, inputs_mark, bin_index
),

-- What is not served at all is one row a day without a bin: its number is known, its delays are not.
final as (
    select
        binned.start_date,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        details.detail_level,
        {{ served('access_technology', 4, "'withheld'") }} as access_technology,
        {{ served('proximity_number', 3, '-1') }} as proximity_number,
        {{ served('country', 2, "'withheld'") }} as country,
        {{ served('transfer_size_number', 1, '-1') }} as transfer_size_number,
        {{ served('ip_version', 1, "'withheld'") }} as ip_version,
        case when details.detail_level <= {{ levels | length }} then binned.bin_index end as bin_index,
        binned.inputs_mark,
        cast(sum(binned.connections) as bigint) as connections
    from binned
    inner join details
        on
        {%- for column in cell %}
                {% if not loop.first %}and {% endif %}binned.{{ column }} = details.{{ column }}
        {%- endfor %}
    group by
        binned.start_date,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        details.detail_level,
        {{ served('access_technology', 4, "'withheld'") }},
        {{ served('proximity_number', 3, '-1') }},
        {{ served('country', 2, "'withheld'") }},
        {{ served('transfer_size_number', 1, '-1') }},
        {{ served('ip_version', 1, "'withheld'") }},
        case when details.detail_level <= {{ levels | length }} then binned.bin_index end,
        binned.inputs_mark
)

select * from final
