{#-
    Whether a model adds to what it holds already. Only DuckDB's tables outlive a build, so other engines are not asked: the project is compiled for
    them without a connection.
-#}
{% macro is_incremental() %}
    {{ return(target is not defined or (target.type == 'duckdb' and dbt.is_incremental())) }}
{% endmacro %}
