{#-
    Whether a model adds to what it holds already. A compiler without a connection says it (SOJOURN_DBT_ADDS: yes or no) and compiles both. In a
    run of dbt itself only DuckDB's tables outlive a build, so other engines are not looked at.
-#}
{% macro is_incremental() %}
    {%- set adds = env_var('SOJOURN_DBT_ADDS', '') -%}
    {%- if adds -%}
        {{ return(adds == 'yes' and model.config.materialized == 'incremental') }}
    {%- endif -%}
    {{ return(target.type == 'duckdb' and dbt.is_incremental()) }}
{% endmacro %}
