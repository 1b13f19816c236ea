{%- set measures = ['connections', 'connections_above_1', 'connections_above_2', 'connections_above_3'] -%}
with

host_days as (
    select * from {{ ref('int_host_day') }}
),

host_months as (
    select * from {{ ref('int_host_month') }}
),

of_days as (
    select
        'day' as period_kind,
        cast(start_date as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        client_host_key,
        {%- for measure in measures %}
            cast(sum({{ measure }}) as bigint) as {{ measure }},
        {%- endfor %}
        max(maximum_queuing_delay_us) as maximum_queuing_delay_us
    from host_days
    group by period, dataset, synthetic, rtt_basis, sample_basis, access_technology, client_host_key
),

of_months as (
    select
        'month' as period_kind,
        substr(cast(start_month as string), 1, 7) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        client_host_key,
        {%- for measure in measures %}
            cast(sum({{ measure }}) as bigint) as {{ measure }},
        {%- endfor %}
        max(maximum_queuing_delay_us) as maximum_queuing_delay_us
    from host_months
    group by period, dataset, synthetic, rtt_basis, sample_basis, access_technology, client_host_key
),

of_all as (
    select
        'all' as period_kind,
        'all' as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        access_technology,
        client_host_key,
        {%- for measure in measures %}
            cast(sum({{ measure }}) as bigint) as {{ measure }},
        {%- endfor %}
        max(maximum_queuing_delay_us) as maximum_queuing_delay_us
    from host_months
    group by dataset, synthetic, rtt_basis, sample_basis, access_technology, client_host_key
),

final as (
    select * from of_days

    union all

    select * from of_months

    union all

    select * from of_all
)

select * from final
