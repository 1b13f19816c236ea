{#-
    CTEs that end in `served`: queuing delays of connections, of the days that a table does not hold yet, in bins of cells with enough hosts.

    kept, levels, withheld: as for `served_cells`.
-#}
{% macro queuing_delays_served(kept, levels, withheld={}) -%}
{%- set cell = kept + (levels | sum(start=[])) -%}
{{ connections_of_days_to_make('connections', ['connections', 'connections_of_hosts']) }},

binned as (
    select
        {{ cell | join(',\n        ') }},
        {{ log_linear_bin('queuing_delay_us') }} as bin_index,
        count(*) as connections,
        {{ host_bits('client_host_hash') }} as host_bits
    from connections
    where outcome = 'counted'
    group by {{ cell | join(', ') }}, bin_index
),

{{ doubtful_cells('binned', kept, levels) }},

hosts as (
    select
        {{ cell | join(',\n        ') }},
        client_host_hash as host_hash
    from connections_of_hosts
    where outcome = 'counted'
),

{{ cell_details('hosts', kept, levels) }},

{{ served_cells('binned', kept, levels, withheld=withheld) }}
{%- endmacro %}

{#-
    CTE `rolled_up`: bins of the cube added up over the omitted dimensions, of the parts that a table does not hold yet. These are
    sums of what the cube serves, so they disclose nothing about the cells that it suppresses.

    cells: a relation with the columns of the cube. fingerprint: its column of parts. dimensions: the columns that are kept.
-#}
{% macro cells_rolled_up(cells, fingerprint, dimensions) -%}
{{ parts_to_make(fingerprint, of='connections') }},

parts_lacking as (
    select distinct {{ fingerprint }} from parts
),

cells as (
    select * from {{ cells }}
),

rolled_up as (
    select
        cells.{{ fingerprint }},
        {%- for column in dimensions %}
        cells.{{ column }},
        {%- endfor %}
        cells.bin_index,
        cast(sum(cells.connections) as bigint) as connections
    from cells
    inner join parts_lacking on cells.{{ fingerprint }} = parts_lacking.{{ fingerprint }}
    where cells.bin_index is not null
    group by
        cells.{{ fingerprint }},
        {%- for column in dimensions %}
        cells.{{ column }},
        {%- endfor %}
        cells.bin_index
)
{%- endmacro %}

{#-
    CTE `bins`: bins of parts as a mart has them, with the period and data set of the part, the names of classes, and the edges of each bin.

    cells: a relation of bins. fingerprint: its column of parts. dimensions: its other columns as the mart has them.
-#}
{% macro bins_of_parts(cells, fingerprint, dimensions) -%}
{%- set numbers = {'proximity_class': 'proximity', 'transfer_size_class': 'transfer_size'} -%}
cells as (
    select * from {{ cells }}
),

parts as (
    select distinct
        {{ fingerprint }},
        {%- if fingerprint == 'part_fingerprint' %}
        start_date,
        {%- endif %}
        start_month,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis
    from {{ ref('int_connection_part') }}
),

class_names as (
    select * from {{ ref('int_connection_class_name') }}
),

bins as (
    select
        {%- if fingerprint == 'part_fingerprint' %}
        parts.start_date,
        {%- endif %}
        parts.start_month,
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        {%- for column in dimensions %}
        {{ numbers[column] ~ '_names.class_name as ' ~ column if column in numbers else 'cells.' ~ column }},
        {%- endfor %}
        cast(cells.bin_index as bigint) as bin_index,
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.connections
    from cells
    inner join parts on cells.{{ fingerprint }} = parts.{{ fingerprint }}
    {%- for column in dimensions if column in numbers %}
    inner join class_names as {{ numbers[column] }}_names
        on
            {{ numbers[column] }}_names.class_kind = '{{ numbers[column] }}'
            and cells.{{ numbers[column] }}_number = {{ numbers[column] }}_names.class_number
    {%- endfor %}
    where cells.bin_index is not null
)
{%- endmacro %}

{#-
    Columns of `bins` as every mart of them has them.

    period: `start_date` or `start_month`, the period that tells the bins apart. dimensions: as for `bins_of_parts`.
-#}
{% macro columns_of_bins(period, dimensions) -%}
{%- set month_of_day = ['start_month'] if period == 'start_date' else [] -%}
{{
    (
        [period, 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] + dimensions
        + ['bin_index'] + month_of_day + ['bin_lower_us', 'bin_upper_us', 'connections']
    ) | join(',\n        ')
}}
{%- endmacro %}
