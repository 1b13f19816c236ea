{#-
    Facts of connections are counted once a day or month of theirs, and again only when its sources change. What is counted together is
    a part: the connections of one data set and basis on a day or in a month, known by a mark that is another one when the sources of
    the day or month are (`int_connection_part`). On Spark every build counts all anew.
-#}

{#- Before a model is made: remove the parts whose sources are no longer what they were. -#}
{% macro forget_changed_parts(mark) -%}
    {%- if is_incremental() -%}
    delete from {{ this }}
    where {{ mark }} not in (select {{ mark }} from {{ ref('int_connection_part') }})
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
{% macro parts_to_make(mark='part_mark', of=none) -%}
parts as (
    select connection_parts.*
    from {{ ref('int_connection_part') }} as connection_parts
    {%- if of %}
    inner join {{ ref('int_connection_count_day') }} as counts
        on
            connection_parts.part_mark = counts.part_mark
            and counts.outcome = 'counted'
            and counts.{{ of }} > 0
    {%- endif %}
    {% if is_incremental() %}
    where connection_parts.{{ mark }} not in (select distinct made.{{ mark }} from {{ this }} as made)
    {% endif %}
)
{%- endmacro %}

{#-
    CTEs `parts`, those that a model lacks, and `connections`, theirs with the mark of their part. Files without such a day are not read,
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
        parts.part_mark
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
