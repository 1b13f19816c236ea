{#-
    Same cells and levels as the cubes (int_queuing_delay_day, int_rtt_day): with other cells, a cube minus these rows would reveal who was
    suppressed.
-#}
{%- set kept = ['part_fingerprint'] -%}
{%- set levels = [['transfer_size_number', 'ip_version'], ['country'], ['proximity_number'], ['access_technology']] -%}
{%- set withheld = {'proximity_number': '-1', 'transfer_size_number': '-1'} -%}
{%- set given_up = levels | sum(start=[]) -%}
{%- set cell = kept + given_up -%}
{%- set values = ['rtt_min_us', 'rtt_max_us', 'rtt_mean_us'] -%}
{%- set most = var('most_connections_of_a_day', 100000) | int -%}
with

{{ connections_of_days_to_make('connections', ['connections', 'connections_of_cells', 'connections_of_hosts']) }},

counts as (
    select * from {{ ref('int_connection_count_day') }}
    where outcome = 'counted'
),

shares as (
    select
        part_fingerprint,
        {{ integer_divide('connections + ' ~ (most - 1), most) }} as drawn_one_in
    from counts
),

-- The digest selects the same connections on every engine, whatever the order of the rows. The connection's number in its source is used
-- only here, because it would reveal the order of the connections in time.
drawn as (
    select
        {%- for column in cell + values %}
            connections.{{ column }},
        {%- endfor %}
        shares.drawn_one_in
    from connections
    inner join shares on connections.part_fingerprint = shares.part_fingerprint
    where
        connections.outcome = 'counted'
        and (
            shares.drawn_one_in = 1
            or md5(concat(connections.source_hash, ':', cast(connections.connection_number as string)))
            < lpad(lower(hex({{ integer_divide('4294967296', 'shares.drawn_one_in') }})), 8, '0')
        )
),

counted as (
    select
        {{ cell | join(',\n        ') }},
        {{ host_bits('client_host_hash') }} as host_bits
    from connections_of_cells
    where outcome = 'counted'
    group by {{ cell | join(', ') }}
),

{{ cell_details_of_connections('counted', kept, levels) }},

served as (
    select
        drawn.part_fingerprint,
        coalesce(details.detail_level, 0) as detail_level,
        {%- for columns in levels %}
            {%- set level = loop.index %}
            {%- for column in columns %}
                case
                    when coalesce(details.detail_level, 0) >= {{ level }} then {{ withheld.get(column, "'withheld'") }}
                    else drawn.{{ column }}
                end as {{ column }},
            {%- endfor %}
        {%- endfor %}
        drawn.rtt_min_us,
        drawn.rtt_mean_us,
        drawn.rtt_max_us,
        drawn.drawn_one_in
    from drawn
    left join details
        on {{ same_columns('drawn', 'details', cell) }}
    where coalesce(details.detail_level, 0) <= {{ levels | length }}
),

-- The order uses every column, so rows that could swap numbers are identical, and the numbers depend only on the values.
final as (
    select
        part_fingerprint,
        cast(
            row_number()
                over (
                    partition by part_fingerprint
                    order by
                        detail_level,
                        {%- for column in given_up %}
                            {{ column }},
                        {%- endfor %}
                        rtt_min_us,
                        rtt_max_us,
                        rtt_mean_us nulls first
                )
            as bigint
        ) as drawn_number,
        detail_level,
        {{ given_up | join(',\n        ') }},
        rtt_min_us,
        rtt_mean_us,
        rtt_max_us,
        drawn_one_in
    from served
)

select * from final
