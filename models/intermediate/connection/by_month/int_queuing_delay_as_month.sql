{%- set kept = ['start_month', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
{%- set levels = [['asn'], ['country'], ['access_technology']] -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
with

months as (
    select * from {{ ref('int_connection_month') }}
    {% if is_incremental() %}
        where start_month not in (select made.start_month from {{ this }} as made)
    {% endif %}
),

days as (
    select
        days_of_month.start_date,
        months.start_month,
        months.inputs_mark
    from {{ ref('int_connection_day') }} as days_of_month
    inner join months on days_of_month.start_month = months.start_month
),

host_months as (
    select
        {%- for column in cell %}
            hosts.{{ column }},
        {%- endfor %}
        {{ key_hash('hosts.client_host_key') }} as host_hash
    from {{ ref('int_host_month') }} as hosts
    inner join months on hosts.start_month = months.start_month
),

as_days as (
    select * from {{ ref('int_queuing_delay_as_day') }}
),

{{ cell_details('host_months', kept, levels) }},

binned as (
    select
        days.start_month,
        as_days.dataset,
        as_days.synthetic,
        as_days.rtt_basis,
        as_days.sample_basis,
        as_days.asn,
        as_days.country,
        as_days.access_technology,
        as_days.bin_index,
        days.inputs_mark,
        sum(as_days.connections) as connections
    from as_days
    inner join days on as_days.start_date = days.start_date
    group by
        days.start_month,
        as_days.dataset,
        as_days.synthetic,
        as_days.rtt_basis,
        as_days.sample_basis,
        as_days.asn,
        as_days.country,
        as_days.access_technology,
        as_days.bin_index,
        days.inputs_mark
),

final as (
    select
        binned.start_month,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        details.detail_level,
        {{ served('access_technology', 3, "'withheld'") }} as access_technology,
        {{ served('country', 2, "'withheld'") }} as country,
        {{ served('asn', 1, '-1') }} as asn,
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
        binned.start_month,
        binned.dataset,
        binned.synthetic,
        binned.rtt_basis,
        binned.sample_basis,
        details.detail_level,
        {{ served('access_technology', 3, "'withheld'") }},
        {{ served('country', 2, "'withheld'") }},
        {{ served('asn', 1, '-1') }},
        case when details.detail_level <= {{ levels | length }} then binned.bin_index end,
        binned.inputs_mark
)

select * from final
