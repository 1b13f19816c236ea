{#- The handshake passes both legs, so its RTT is of the whole path. -#}
{%- set delays = {
    'queuing_delay': ('leg', 'queuing_delay_us'),
    'smoothed_rtt': ('leg', 'cast(floor(rtt_avg_us) as bigint)'),
    'handshake_rtt': ("'both'", 'handshake_rtt_us')
} -%}
with

connections as (
    select * from {{ ref('int_capture_leg') }}
),

totals as (
    select * from {{ ref('int_capture_total') }}
),

started as (
    select
        connections.*,
        {{ utc_date('connections.start_ns') }} as start_date,
        10 * {{ integer_divide(integer_divide('connections.start_ns', 1000000000) ~ ' - totals.first_second', 10) }} as second
    from connections
    inner join totals on connections.source_hash = totals.source_hash
),

binned as (
    {%- for kind, (leg, value) in delays.items() %}
        {%- if not loop.first %}

            union all
        {% endif %}
        select
            dataset,
            source_hash,
            service,
            {{ leg }} as leg,
            '{{ kind }}' as delay_kind,
            start_date,
            second,
            {{ log_linear_bin(value) }} as bin_index
        from started
        where {{ value }} is not null
    {%- endfor %}
),

final as (
    select
        dataset,
        source_hash,
        service,
        leg,
        delay_kind,
        start_date,
        second,
        bin_index,
        count(*) as connections
    from binned
    group by dataset, source_hash, service, leg, delay_kind, start_date, second, bin_index
)

select * from final
