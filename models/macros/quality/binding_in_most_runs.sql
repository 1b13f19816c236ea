{#-
    CTEs that end in `binding`: the requirement or quantity that is limiting in most of the included runs, and in how many
    (`binding_runs`). If several are limiting in equally many, the first by name.

    rows: CTE of runs with the key, the columns and exclusion_reason. columns: columns that name what is limiting; null if nothing is.
-#}
{% macro binding_in_most_runs(rows, key, columns) -%}
binding_counts as (
    select
        {{ (key + columns) | join(',\n        ') }},
        count(*) as binding_runs
    from {{ rows }}
    where
        exclusion_reason is null
        and {{ columns[0] }} is not null
    group by {{ (key + columns) | join(', ') }}
),

binding_places as (
    select
        *,
        row_number() over (
            partition by {{ key | join(', ') }}
            order by binding_runs desc, {{ columns | join(', ') }}
        ) as binding_place
    from binding_counts
),

binding as (
    select * from binding_places
    where binding_place = 1
)
{%- endmacro %}
