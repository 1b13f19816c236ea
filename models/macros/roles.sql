{#- The roles that share a bottleneck, as a list of SQL: of a run, one or two of them. -#}
{% macro competing_roles() -%}
    ('app', 'tcp', 'rival')
{%- endmacro %}

{#- The roles of what a run is about: background traffic, and what its manifest does not declare, is `other`. -#}
{% macro declared_roles() -%}
    ('app', 'tcp', 'rival', 'tcp_control')
{%- endmacro %}

{#- Rows of each role, and again of all of them as the role `all`. role: SQL of a row's role. columns: what else is kept. -#}
{% macro roles_and_all(rows, columns, role='role') -%}
    {%- for role_of_row in [role, "'all' as role"] %}
    {{ 'union all' if not loop.first }}
    select
        study_id,
        run_id,
        {{ role_of_row }},
        {{ columns | join(',\n        ') }}
    from {{ rows }}
    {%- endfor %}
{%- endmacro %}
