{#-
    Whether a model adds to the rows it already has. A compiler without a connection sets SOJOURN_DBT_ADDS (yes or no) and compiles both.
    In a dbt run, only DuckDB's tables outlive a build, so other engines are not examined.
-#}
{% macro is_incremental() %}
    {%- set adds = env_var('SOJOURN_DBT_ADDS', '') -%}
    {%- if adds -%}
        {{ return(adds == 'yes' and model.config.materialized == 'incremental') }}
    {%- endif -%}
    {{ return(target.type == 'duckdb' and dbt.is_incremental()) }}
{% endmacro %}
