{#-
    Facts of connections are counted once a day or month of theirs, and again only when its sources change. What is counted together is
    a part: the connections of one data set and basis on a day or in a month, known by a fingerprint that is another one when the sources of
    the day or month are (`int_connection_part`). On Spark every build counts all anew.
-#}

{#- Before a model is made: remove the parts whose sources are no longer what they were. -#}
{% macro forget_changed_parts(fingerprint) -%}
    {%- if is_incremental() -%}
    delete from {{ this }}
    where {{ fingerprint }} not in (select {{ fingerprint }} from {{ ref('int_connection_part') }})
    {%- endif -%}
{%- endmacro %}

{#- After a table of months is made, which may have gone on from what it held: remove the states of months that are no longer current. -#}
{% macro forget_changed_months() -%}
    {%- if is_incremental() -%}
    delete from {{ this }}
    where month_part_fingerprint not in (select month_part_fingerprint from {{ ref('int_connection_part') }})
    {%- endif -%}
{%- endmacro %}

{#- Before the list of sources is made: remove those that are no longer live. -#}
{% macro forget_gone_sources() -%}
    {%- if is_incremental() -%}
    delete from {{ this }}
    where (source_hash, decoder_version) not in (select source_hash, decoder_version from {{ ref('int_connection_source') }})
    {%- endif -%}
{%- endmacro %}

{#-
    CTE `parts`: those that a model lacks. of: the column of `int_connection_count_day` that says how many connections of a part the model
    is made of. A part without any leaves no row, and would be lacked, and its files read, at every build.
-#}
{% macro parts_to_make(fingerprint='part_fingerprint', of=none) -%}
parts as (
    select connection_parts.*
    from {{ ref('int_connection_part') }} as connection_parts
    {%- if of %}
    inner join {{ ref('int_connection_count_day') }} as counts
        on
            connection_parts.part_fingerprint = counts.part_fingerprint
            and counts.outcome = 'counted'
            and counts.{{ of }} > 0
    {%- endif %}
    {% if is_incremental() %}
    where connection_parts.{{ fingerprint }} not in (select distinct made.{{ fingerprint }} from {{ this }} as made)
    {% endif %}
)
{%- endmacro %}

{#-
    CTEs `parts`, those that a model lacks, and `connections`, theirs with the fingerprint of their part. Files without such a day are not read,
    since the Parquet statistics of source_hash tell them apart.

    of: as `parts_to_make` has it. names: one CTE of connections for each place that selects from them. DuckDB keeps the rows of a CTE that is selected from twice in
    memory, and these are too many for that.
-#}
{% macro connections_of_days_to_make(of=none, names=['connections']) -%}
{{ parts_to_make(of=of) }},

sources as (
    select distinct source_days.source_hash
    from {{ ref('int_connection_source_day') }} as source_days
    inner join parts
        on
            source_days.start_date = parts.start_date
            and source_days.dataset = parts.dataset
            and source_days.synthetic = parts.synthetic
            and source_days.rtt_basis = parts.rtt_basis
            and source_days.sample_basis = parts.sample_basis
)
{%- for name in names %},

{{ name }} as (
    select
        measured.*,
        parts.part_fingerprint
    from {{ ref('int_connection_measured') }} as measured
    inner join parts
        on
            measured.start_date = parts.start_date
            and measured.dataset = parts.dataset
            and measured.synthetic = parts.synthetic
            and measured.rtt_basis = parts.rtt_basis
            and measured.sample_basis = parts.sample_basis
    {% if is_incremental() %}
    where measured.source_hash in (select sources.source_hash from sources)
    {% endif %}
)
{%- endfor %}
{%- endmacro %}

{#-
    CTEs that end in `months`: a table of days added up by month. Where the table of months holds a month that was made of nothing but days
    that are still as they were, only the other days are added to it: a day more costs the month's rows, not those of all its days.

    The table itself is named in each place, since DuckDB would keep all rows of a CTE that is selected from twice.

    days: the relation that is added up. of: as `parts_to_make` has it. dimensions, sums, maxima: its columns. where: a condition on them.
-#}
{% macro days_added_to_months(days, of, dimensions, sums, maxima=[], where=none) -%}
{#- Said here, since what is referred to only while a table grows is not seen when the project is read. -#}
{%- do ref('int_connection_month_state') -%}
{%- set measures = sums + maxima -%}
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
month_states as (
    select * from {{ ref('int_connection_month_state') }}
),

months_made as (
    select distinct made.month_part_fingerprint from {{ this }} as made
),

-- No day of such a state is gone or another one, so all of them are of one month as it is now.
states_to_go_on_from as (
    select
        month_states.month_part_fingerprint as made_fingerprint,
        max(connection_parts.month_part_fingerprint) as month_part_fingerprint,
        count(*) as parts_made
    from month_states
    inner join months_made on month_states.month_part_fingerprint = months_made.month_part_fingerprint
    left join connection_parts on month_states.part_fingerprint = connection_parts.part_fingerprint
    group by month_states.month_part_fingerprint
    having count(connection_parts.part_fingerprint) = count(*)
),

months_so_far as (
    select
        month_part_fingerprint,
        max_by(made_fingerprint, parts_made) as made_fingerprint
    from states_to_go_on_from
    where month_part_fingerprint not in (select months_made.month_part_fingerprint from months_made)
    group by month_part_fingerprint
),

parts_so_far as (
    select month_states.part_fingerprint
    from month_states
    inner join months_so_far on month_states.month_part_fingerprint = months_so_far.made_fingerprint
),

{% endif -%}
parts as (
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
        and connection_parts.part_fingerprint not in (select parts_so_far.part_fingerprint from parts_so_far)
    {%- endif %}
),

to_add_up as (
    select
        parts.month_part_fingerprint,
        {%- for column in dimensions + measures %}
        days_of_parts.{{ column }}{{ '' if loop.last else ',' }}
        {%- endfor %}
    from days_of_parts
    inner join parts on days_of_parts.part_fingerprint = parts.part_fingerprint
    {%- if where %}
    where {{ where }}
    {%- endif %}
    {%- if is_incremental() %}

    union all

    select
        months_so_far.month_part_fingerprint,
        {%- for column in dimensions + measures %}
        made.{{ column }}{{ '' if loop.last else ',' }}
        {%- endfor %}
    from {{ this }} as made
    inner join months_so_far on made.month_part_fingerprint = months_so_far.made_fingerprint
    {%- endif %}
),

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
    from to_add_up
    group by month_part_fingerprint, {{ dimensions | join(', ') }}
)
{%- endmacro %}
