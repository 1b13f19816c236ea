{#-
    CTEs that end in `served`: queuing delays of connections in bins of cells with enough hosts, for the days that a table does not
    contain yet.

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

{{ cell_details_of_connections('binned', kept, levels) }},

{{ served_cells('binned', kept, levels, withheld=withheld) }}
{%- endmacro %}

{#-
    CTE `rolled_up`: bins of the cube added up over the omitted dimensions, for the parts that a table does not contain yet. They are sums
    of what the cube serves, so they disclose nothing about suppressed cells.

    cells: relation with the columns of the cube. fingerprint: column of cells with the part. dimensions: columns that are kept.
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
    Query of a mart of bins: the bins of each part, with the period and data set of the part, the names of classes, and the edges of each
    bin.

    cells: relation of bins. period: `start_date` or `start_month`, the period that distinguishes the bins. dimensions: the other columns
    of cells in the mart. is_upper_bound: whether the mart labels its delays as upper bounds.
-#}
{% macro histogram_of_parts(cells, period, dimensions, is_upper_bound=false) -%}
{%- set numbers = {'proximity_class': 'proximity', 'transfer_size_class': 'transfer_size'} -%}
{%- set fingerprint = 'part_fingerprint' if period == 'start_date' else 'month_part_fingerprint' -%}
with

cells as (
    select * from {{ cells }}
),

parts as (
    select distinct
        {{ fingerprint }},
        {{ 'start_date,' if period == 'start_date' }}
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

final as (
    select
        parts.{{ period }},
        parts.dataset,
        parts.synthetic,
        parts.rtt_basis,
        parts.sample_basis,
        {%- for column in dimensions %}
        {{ numbers[column] ~ '_names.class_name as ' ~ column if column in numbers else 'cells.' ~ column }},
        {%- endfor %}
        cast(cells.bin_index as bigint) as bin_index,
        {{ 'parts.start_month,' if period == 'start_date' }}
        {{ bin_lower_us('cells.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('cells.bin_index') }} as bin_upper_us,
        cells.connections
        {{ ', true as is_upper_bound' if is_upper_bound }}
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

select * from final
{%- endmacro %}
