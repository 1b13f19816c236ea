{#-
    Loads the rows of a seed on Spark. dbt-spark's own macro does not escape values: an empty field would become the text `None`, and an
    apostrophe would end the text.
-#}
{% macro spark__load_csv_rows(model, agate_table) %}
    {%- set column_types = model['config'].get('column_types', {}) -%}
    {%- set sql -%}
        insert into {{ this.render() }} values
        {%- for row in agate_table.rows %}
        (
            {%- for name in agate_table.column_names -%}
                {%- set value = row[loop.index0] -%}
                {%- set type = column_types.get(name, adapter.convert_type(agate_table, loop.index0)) -%}
                cast({% if value is none %}null{% else %}'{{ value | string | replace('\\', '\\\\') | replace("'", "\\'") }}'{% endif %} as {{ type }})
                {%- if not loop.last %}, {% endif -%}
            {%- endfor -%}
        )
        {%- if not loop.last %},{% endif -%}
        {%- endfor -%}
    {%- endset -%}
    {% do adapter.add_query(sql, abridge_sql_log=True) %}
    {{ return(sql) }}
{% endmacro %}
