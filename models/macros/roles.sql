{#- The roles that share a bottleneck, as a list of SQL: of a run, one or two of them. -#}
{% macro competing_roles() -%}
    ('app', 'tcp', 'rival')
{%- endmacro %}

{#- The roles that a manifest gives its flows: the others are `other`. -#}
{% macro declared_roles() -%}
    ('app', 'tcp', 'rival', 'tcp_control')
{%- endmacro %}
