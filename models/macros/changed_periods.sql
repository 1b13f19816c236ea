{#-
    Facts of connections are counted once a day or month of theirs (`period`), and again only when its sources change: those of
    `int_connection_day` or `int_connection_month` under another `inputs_mark`. On Spark every build counts all anew.
-#}

{#- Before a model is made: remove the periods whose sources are no longer what they were. -#}
{% macro forget_changed_periods(period, periods) -%}
    {%- if is_incremental() -%}
    delete from {{ this }}
    where ({{ period }}, inputs_mark) not in (select {{ period }}, inputs_mark from {{ ref(periods) }})
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
    CTEs that end in `connections`: those of the days to make, with the mark of their day. Files without such a day are not read,
    since the Parquet statistics of source_hash tell them apart.
-#}
{% macro connections_of_days_to_make() -%}
days as (
    select
        start_date,
        inputs_mark
    from {{ ref('int_connection_day') }}
    {% if is_incremental() %}
    where start_date not in (select made.start_date from {{ this }} as made)
    {% endif %}
),

sources as (
    select distinct source_days.source_hash
    from {{ ref('int_connection_source_day') }} as source_days
    inner join days on source_days.start_date = days.start_date
),

connections as (
    select
        measured.*,
        days.inputs_mark
    from {{ ref('int_connection_measured') }} as measured
    inner join days on measured.start_date = days.start_date
    where measured.source_hash in (select sources.source_hash from sources)
)
{%- endmacro %}
