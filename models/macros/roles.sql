{#- The roles that share a bottleneck, as a list of SQL: of a run, one or two of them. -#}
{% macro competing_roles() -%}
    ('app', 'tcp', 'rival')
{%- endmacro %}

{#- The roles of what a run is about: background traffic, and what its manifest does not declare, is `other`. -#}
{% macro declared_roles() -%}
    ('app', 'tcp', 'rival', 'tcp_control')
{%- endmacro %}
