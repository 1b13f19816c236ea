{#-
    Delays of connections in captures, one row for each kind of delay: the columns, leg, delay_kind and delay_us. The handshake passes
    both legs, so its RTT covers the whole path.

    connections: relation of int_capture_leg. whole: whether delays are in whole microseconds, as bins are.
-#}
{% macro delays_by_kind(connections, columns, whole=true) -%}
    {%- for kind, leg, value in [
        ('queuing_delay', 'leg', 'queuing_delay_us'),
        ('smoothed_rtt', 'leg', 'cast(floor(rtt_avg_us) as bigint)' if whole else 'rtt_avg_us'),
        ('handshake_rtt', "'both'", 'handshake_rtt_us')
    ] %}
    {{ 'union all' if not loop.first }}
    select
        {{ columns | join(', ') }},
        {{ leg }} as leg,
        '{{ kind }}' as delay_kind,
        {{ value }} as delay_us
    from {{ connections }}
    where {{ value }} is not null
    {%- endfor %}
{%- endmacro %}
