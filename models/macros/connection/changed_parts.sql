{#-
    Connections are counted once for each day or month, and again only if the sources of that day or month change. A part is the unit that
    is counted together: the connections of one data set and basis on a day, in a month, or over all time. Its fingerprint changes if the
    sources of its period change (`int_connection_part`). docs/decisions/016-incremental-months.md gives the reasons. On Spark, every
    build counts everything.
-#}

{#- dbt hook of incremental models: delete the rows that meet the condition `meta.outdated`. -#}
{% macro delete_outdated() -%}
    {%- if is_incremental() -%}
    delete from {{ this }} where {{ model.config.meta.outdated }}
    {%- endif -%}
{%- endmacro %}

{#-
    CTE `parts`: the parts that a model does not contain yet.

    of: column of `int_connection_count_day` with the number of connections from which the model is made. A part without such connections
    leaves no row in the model: without this condition, every build would consider it missing and read its files.
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
    CTEs `parts`, as in `parts_to_make`, and `connections`: the connections of these parts, with the fingerprint of their part. Files
    without such a day are not read, because the Parquet statistics of source_hash exclude them.

    of: as in `parts_to_make`. names: names of the CTEs of connections, one for each place that selects from them. DuckDB keeps the rows
    of a CTE in memory if two places select from it, and there are too many rows for that.
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
