{#-
    A table of months is a table of days added up. Adding up a month again for each new day would read all of its days every time, so a
    month continues from the rows that the table has, as long as they are still valid. docs/decisions/016-incremental-months.md explains
    the cases.

    A state of a month is the set of rows under one `month_part_fingerprint`: the sum over the days that the month had then.
    `int_connection_month_state` lists the days (`part_fingerprint`) from which each state was made.
-#}

{#-
    CTEs for continuing a table of months: `continued_months` has each current month that the table lacks, with the state from which it
    continues; `days_already_added` has the days of those states.
-#}
{% macro months_to_continue() -%}
month_states as (
    select * from {{ ref('int_connection_month_state') }}
),

months_made as (
    select distinct made.month_part_fingerprint from {{ this }} as made
),

-- A state is still valid if each of its days is a current part: no day was removed, and no day's sources changed. The left join keeps
-- days that are not current, with a null, so the two counts differ for a state with such a day. All days of a state are in one month.
states_still_true as (
    select
        month_states.month_part_fingerprint as made_fingerprint,
        max(connection_parts.month_part_fingerprint) as month_part_fingerprint,
        count(*) as days_made
    from month_states
    inner join months_made on month_states.month_part_fingerprint = months_made.month_part_fingerprint
    left join connection_parts on month_states.part_fingerprint = connection_parts.part_fingerprint
    group by month_states.month_part_fingerprint
    having count(connection_parts.part_fingerprint) = count(*)
),

-- The state with the most days leaves the fewest to add. A month whose current state is in the table needs nothing.
continued_months as (
    select
        month_part_fingerprint,
        max_by(made_fingerprint, days_made) as made_fingerprint
    from states_still_true
    where month_part_fingerprint not in (select months_made.month_part_fingerprint from months_made)
    group by month_part_fingerprint
),

days_already_added as (
    select month_states.part_fingerprint
    from month_states
    inner join continued_months on month_states.month_part_fingerprint = continued_months.made_fingerprint
),
{%- endmacro %}

{#- CTE `days_to_add`: the days, with their months, that are in no state yet. of: as in `parts_to_make`. -#}
{% macro days_to_add(of) -%}
days_to_add as (
    select
        connection_parts.part_fingerprint,
        connection_parts.month_part_fingerprint
    from connection_parts
    inner join counts
        on
            connection_parts.part_fingerprint = counts.part_fingerprint
            and counts.outcome = 'counted'
            and counts.{{ of }} > 0
    {%- if is_incremental() %}
    where
        connection_parts.month_part_fingerprint not in (select months_made.month_part_fingerprint from months_made)
        and connection_parts.part_fingerprint not in (select days_already_added.part_fingerprint from days_already_added)
    {%- endif %}
)
{%- endmacro %}

{#-
    CTE `rows_to_add_up`: the rows of the days to add, and those of the states from which months continue. columns: columns of both.
    where: condition on the rows of days; none for all rows.

    The table that is being built (`this`) is named both here and in `months_to_continue`, not in a shared CTE: DuckDB would keep all of
    its rows in memory.
-#}
{% macro rows_to_add_up(columns, where=none) -%}
rows_to_add_up as (
    select
        days_to_add.month_part_fingerprint,
        {%- for column in columns %}
        days_of_parts.{{ column }}{{ '' if loop.last else ',' }}
        {%- endfor %}
    from days_of_parts
    inner join days_to_add on days_of_parts.part_fingerprint = days_to_add.part_fingerprint
    {%- if where %}
    where {{ where }}
    {%- endif %}
    {%- if is_incremental() %}

    union all

    select
        continued_months.month_part_fingerprint,
        {%- for column in columns %}
        made.{{ column }}{{ '' if loop.last else ',' }}
        {%- endfor %}
    from {{ this }} as made
    inner join continued_months on made.month_part_fingerprint = continued_months.made_fingerprint
    {%- endif %}
)
{%- endmacro %}

{#-
    CTEs that end in `months`: the months that a table of months lacks.

    days: table of days, with `part_fingerprint`. of: as in `parts_to_make`. dimensions: columns that distinguish rows. sums: columns that
    are added up. maxima: columns whose maximum is kept. where: condition on rows of `days_of_parts`.
-#}
{% macro days_added_to_months(days, of, dimensions, sums, maxima=[], where=none) -%}
{#- dbt finds dependencies when it reads the project, while `is_incremental` is false: this names the one that it would miss. -#}
{%- do ref('int_connection_month_state') -%}
connection_parts as (
    select * from {{ ref('int_connection_part') }}
),

counts as (
    select * from {{ ref('int_connection_count_day') }}
),

days_of_parts as (
    select * from {{ days }}
),

{% if is_incremental() -%}
{{ months_to_continue() }}

{% endif -%}
{{ days_to_add(of) }},

{{ rows_to_add_up(dimensions + sums + maxima, where) }},

months as (
    select
        month_part_fingerprint,
        {{ dimensions | join(',\n        ') }},
        {%- for column in sums %}
        cast(sum({{ column }}) as bigint) as {{ column }}{{ '' if loop.last and not maxima else ',' }}
        {%- endfor %}
        {%- for column in maxima %}
        max({{ column }}) as {{ column }}{{ '' if loop.last else ',' }}
        {%- endfor %}
    from rows_to_add_up
    group by month_part_fingerprint, {{ dimensions | join(', ') }}
)
{%- endmacro %}
