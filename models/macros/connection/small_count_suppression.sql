{#-
    Small-count suppression. A cell is a combination of dimensions, such as one country, technology and day. It is served only if it has
    at least `minimum_hosts()` hosts. A cell with fewer loses detail, level by level, together with other cells that have too few hosts,
    until it has enough.

    Most cells have far more hosts than that, and counting hosts is expensive. So each host sets one of 62 bits, chosen by the hash of its
    key: a cell with n bits set has at least n hosts. Hosts are counted only in cells whose bits do not prove that there are enough
    (`doubtful_cells`).
-#}

{#-
    Minimum number of hosts in a served cell: the variable `minimum_hosts`, by default 10. With 1, nothing is suppressed and a cell needs
    no host.
-#}
{% macro minimum_hosts() -%}
    {%- set hosts = var('minimum_hosts', 10) -%}
    {#- A text is SQL for a number that is known only when the statement runs. -#}
    {{ hosts if hosts is string or hosts > 1 else 0 }}
{%- endmacro %}

{#- Bits that hosts set; combine them with bit_or. Null for connections without a host. -#}
{% macro host_bits(host_hash) -%}
    bit_or({{ shift_left(1, host_hash ~ ' % 62') }})
{%- endmacro %}

{#- CTE `doubtful_cells`: cells whose bits do not prove enough hosts. counted: CTE with the columns of cells and `host_bits`. -#}
{% macro doubtful_cells(counted, kept, levels) -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
doubtful_cells as (
    select {{ cell | join(', ') }}
    from {{ counted }}
    group by {{ cell | join(', ') }}
    having coalesce(bit_count(bit_or(host_bits)), 0) < {{ minimum_hosts() }}
)
{%- endmacro %}

{#-
    CTEs that end in `details`: one row for each doubtful cell, with the level of detail at which it is served. Level 0 is full detail;
    one more than the number of levels means that the cell is not served.

    hosts: CTE with the columns of cells and `host_hash`, any number of rows for each host. kept: columns that every level keeps. levels:
    columns that each level gives up, in addition to those given up by earlier levels.
-#}
{% macro cell_details(hosts, kept, levels) -%}
{%- if target is defined and target.type == 'spark' -%}
{{ cell_details_by_windows(hosts, kept, levels) }}
{%- else -%}
{{ cell_details_by_joins(hosts, kept, levels) }}
{%- endif -%}
{%- endmacro %}

{#- CTEs that end in `details`, for counted connections: `doubtful_cells` and `cell_details`, with hosts from connections_of_hosts. -#}
{% macro cell_details_of_connections(counted, kept, levels) -%}
{{ doubtful_cells(counted, kept, levels) }},

hosts as (
    select
        {{ (kept + (levels | sum(start=[]))) | join(',\n        ') }},
        client_host_hash as host_hash
    from connections_of_hosts
    where outcome = 'counted'
),

{{ cell_details('hosts', kept, levels) }}
{%- endmacro %}

{#- CTE `observed`: the distinct hosts of some cells. cells: CTE with the columns of `cell`. -#}
{% macro observed_hosts(hosts, cells, cell) -%}
observed as (
    select distinct
        {%- for column in cell %}
        hosts_of_cells.{{ column }},
        {%- endfor %}
        hosts_of_cells.host_hash
    from {{ hosts }} as hosts_of_cells
    inner join {{ cells }}
        on {{ same_columns('hosts_of_cells', cells, cell) }}
)
{%- endmacro %}

{% macro cell_details_by_joins(hosts, kept, levels) -%}
{%- set given_up = levels | sum(start=[]) -%}
{%- set cell = kept + given_up -%}
{{ observed_hosts(hosts, 'doubtful_cells', cell) }},

level_0 as (
    select
        {{ cell | join(',\n        ') }},
        count(host_hash) as hosts
    from observed
    group by {{ cell | join(', ') }}
),

rest_1 as (
    select
        {%- for column in cell %}
        observed.{{ column }},
        {%- endfor %}
        observed.host_hash
    from observed
    inner join level_0
        on
            level_0.hosts < {{ minimum_hosts() }}
            and {{ same_columns('observed', 'level_0', cell) }}
),
{% for level in range(1, levels | length + 1) %}
{%- set left = kept + (levels[level:] | sum(start=[])) %}
level_{{ level }} as (
    select
        {{ left | join(',\n        ') }},
        count(distinct host_hash) as hosts
    from rest_{{ level }}
    group by {{ left | join(', ') }}
),

rest_{{ level + 1 }} as (
    select
        {%- for column in cell %}
        rest_{{ level }}.{{ column }},
        {%- endfor %}
        rest_{{ level }}.host_hash
    from rest_{{ level }}
    inner join level_{{ level }}
        on
            level_{{ level }}.hosts < {{ minimum_hosts() }}
            {%- for column in left %}
            and rest_{{ level }}.{{ column }} = level_{{ level }}.{{ column }}
            {%- endfor %}
),
{% endfor %}
deepest as (
    {%- for level in range(0, levels | length + 2) %}
    {%- if level > 0 %}

    union all
    {%- endif %}

    select
        {{ cell | join(',\n        ') }},
        {{ level }} as detail_level
    from {{ 'level_0' if level == 0 else 'rest_' ~ level }}
    {%- endfor %}
),

details as (
    select
        {{ cell | join(',\n        ') }},
        max(detail_level) as detail_level
    from deepest
    group by {{ cell | join(', ') }}
)
{%- endmacro %}

{#-
    Spark expands a CTE wherever it is selected from, so every level, which the next three CTEs read, would read the connections again.
    Here each CTE is read only once, and hosts are counted with window functions. In a group, a host counts once, in its first row. Rows
    that stay at a level form a separate group.
-#}
{% macro cell_details_by_windows(hosts, kept, levels) -%}
{%- set given_up = levels | sum(start=[]) -%}
{%- set cell = kept + given_up -%}
cells_of_few as (
    select {{ cell | join(', ') }}
    from {{ hosts }}
    group by {{ cell | join(', ') }}
    having coalesce(bit_count({{ host_bits('host_hash') }}), 0) < {{ minimum_hosts() }}
),

{{ observed_hosts(hosts, 'cells_of_few', cell) }},

counted_0 as (
    select
        *,
        count(host_hash) over (partition by {{ cell | join(', ') }}) as hosts
    from observed
),

rest_1 as (
    select
        {{ cell | join(',\n        ') }},
        host_hash,
        case when hosts < {{ minimum_hosts() }} then 1 else 0 end as detail_level
    from counted_0
),
{% for level in range(1, levels | length + 1) %}
{%- set left = kept + (levels[level:] | sum(start=[])) + ['detail_level'] %}
numbered_{{ level }} as (
    select
        *,
        row_number() over (partition by {{ left | join(', ') }}, host_hash order by {{ cell[0] }}) as number_of_host
    from rest_{{ level }}
),

counted_{{ level }} as (
    select
        *,
        count(case when number_of_host = 1 then host_hash end) over (partition by {{ left | join(', ') }}) as hosts
    from numbered_{{ level }}
),

rest_{{ level + 1 }} as (
    select
        {{ cell | join(',\n        ') }},
        host_hash,
        case when detail_level = {{ level }} and hosts < {{ minimum_hosts() }} then {{ level + 1 }} else detail_level end as detail_level
    from counted_{{ level }}
),
{% endfor %}
details as (
    select
        {{ cell | join(',\n        ') }},
        max(detail_level) as detail_level
    from rest_{{ levels | length + 1 }}
    group by {{ cell | join(', ') }}
)
{%- endmacro %}

{#-
    CTE `served`: the bins of cells as they are served. A cell with enough hosts is unchanged. Cells with too few hosts are added up, and
    the columns that their level gives up contain the text `withheld`. Connections of a cell that is not served have no bin: they are
    counted, but their delays are not shown.

    binned: CTE with the columns of cells, `bin_index` and `connections`, one row for each bin. withheld: SQL for the columns whose
    withheld value is not the text `withheld`. carried: columns that distinguish distributions of the same hosts.
-#}
{% macro served_cells(binned, kept, levels, withheld={}, carried=[]) -%}
{%- set given_up = levels | sum(start=[]) -%}
{%- set cell = kept + given_up -%}
{%- set on_spark = target is defined and target.type == 'spark' -%}
{%- set detail_level = 'coalesce(details.detail_level, 0)' if on_spark else 'details.detail_level' -%}
served as (
    {%- if not on_spark %}
    select
        {%- for column in kept + carried %}
        binned.{{ column }},
        {%- endfor %}
        0 as detail_level,
        {%- for column in given_up %}
        binned.{{ column }},
        {%- endfor %}
        binned.bin_index,
        binned.connections
    from {{ binned }} as binned
    left join details
        on {{ same_columns('binned', 'details', cell) }}
    where coalesce(details.detail_level, 0) = 0

    union all
    {%- endif %}

    select
        {%- for column in kept + carried %}
        reduced.{{ column }},
        {%- endfor %}
        reduced.detail_level,
        {%- for column in given_up %}
        reduced.{{ column }},
        {%- endfor %}
        reduced.bin_index,
        cast(sum(reduced.connections) as bigint) as connections
    from (
        select
            {%- for column in kept + carried %}
            binned.{{ column }},
            {%- endfor %}
            {{ detail_level }} as detail_level,
            {%- for columns in levels %}
            {%- set level = loop.index %}
            {%- for column in columns %}
            case when {{ detail_level }} >= {{ level }} then {{ withheld.get(column, "'withheld'") }} else binned.{{ column }} end as {{ column }},
            {%- endfor %}
            {%- endfor %}
            case when {{ detail_level }} <= {{ levels | length }} then binned.bin_index end as bin_index,
            binned.connections
        from {{ binned }} as binned
        {{ 'left' if on_spark else 'inner' }} join details
            on {{ same_columns('binned', 'details', cell) }}
        {%- if not on_spark %}
        where details.detail_level >= 1
        {%- endif %}
    ) as reduced
    group by {{ (cell + carried) | join(', ') }}, detail_level, bin_index
)
{%- endmacro %}
