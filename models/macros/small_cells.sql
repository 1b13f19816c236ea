{#-
    Small cells. A cell is a combination of dimensions, such as one country, technology and day. It is served only with at least
    `minimum_hosts()` hosts; a smaller one loses detail, level by level, together with the other small ones, until it is large enough.
-#}

{#- Fewest hosts of a served cell: the variable `minimum_hosts`, 10 without it. 1 switches the rule off. -#}
{% macro minimum_hosts() -%}
    {{ var('minimum_hosts', 10) | int }}
{%- endmacro %}

{#-
    CTEs that end in `details`: one row for each full cell with the level of detail at which it is served, from 0 (all of it), and
    the number of levels where it is not served at all.

    observed: a CTE with the columns and `host_hash`, any number of rows a host. kept: columns that no level gives up. levels: what each
    level gives up beside what those before it gave up.
-#}
{% macro cell_details(observed, kept, levels) -%}
{%- set given_up = levels | sum(start=[]) -%}
{%- set cell = kept + given_up -%}
level_0 as (
    select
        {{ cell | join(',\n        ') }},
        count(distinct host_hash) as hosts
    from {{ observed }}
    group by {{ cell | join(', ') }}
),

rest_1 as (
    select distinct
        {%- for column in cell %}
        observed_cells.{{ column }},
        {%- endfor %}
        observed_cells.host_hash
    from {{ observed }} as observed_cells
    inner join level_0
        on
            level_0.hosts < {{ minimum_hosts() }}
            {%- for column in cell %}
            and observed_cells.{{ column }} = level_0.{{ column }}
            {%- endfor %}
),
{% for level in range(1, levels | length + 1) %}
{%- set left = kept + (levels[level:] | sum(start=[])) %}
level_{{ level }} as (
    select
        {{ left | join(',\n        ') }},
        count(distinct host_hash) as hosts
    from rest_{{ level }}
    group by {{ left | join(', ') }}
),

rest_{{ level + 1 }} as (
    select
        {%- for column in cell %}
        rest_{{ level }}.{{ column }},
        {%- endfor %}
        rest_{{ level }}.host_hash
    from rest_{{ level }}
    inner join level_{{ level }}
        on
            level_{{ level }}.hosts < {{ minimum_hosts() }}
            {%- for column in left %}
            and rest_{{ level }}.{{ column }} = level_{{ level }}.{{ column }}
            {%- endfor %}
),
{% endfor %}
deepest as (
    {%- for level in range(0, levels | length + 2) %}
    {%- if level > 0 %}

    union all
    {%- endif %}

    select
        {{ cell | join(',\n        ') }},
        {{ level }} as detail_level
    from {{ 'level_0' if level == 0 else 'rest_' ~ level }}
    {%- endfor %}
),

details as (
    select
        {{ cell | join(',\n        ') }},
        max(detail_level) as detail_level
    from deepest
    group by {{ cell | join(', ') }}
)
{%- endmacro %}

{#- A dimension as it is served: its value, or what stands for a withheld one from the level on that gives it up. -#}
{% macro served(column, level, withheld) -%}
    case when details.detail_level >= {{ level }} then {{ withheld }} else details.{{ column }} end
{%- endmacro %}
