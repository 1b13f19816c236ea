{#- Roles that share a bottleneck, as an SQL list; a run has one or two of them. -#}
{% macro competing_roles() -%}
    ('app', 'tcp', 'rival')
{%- endmacro %}

{#- Roles that a manifest gives its flows, except background: background and undeclared traffic is `other`. -#}
{% macro declared_roles() -%}
    ('app', 'tcp', 'rival', 'tcp_control')
{%- endmacro %}

{#- Rows of each role, and all rows again as the role `all`. role: SQL for a row's role. columns: other columns to keep. -#}
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
