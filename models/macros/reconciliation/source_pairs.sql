{#-
    The pairs of sources of one run that are compared, one statement for each pair: `sources`, `first_source`, `second_source`, the `scope`
    of what both can see, and the `gap` that keeps them from being compared, null if there is none.

    pairs_of_sources: of each pair the two sources, the scope, and the columns of their gaps, the one to be named first in front. gaps: the
    relation with these columns. key: its columns that are kept.
-#}
{% macro source_pairs(pairs_of_sources, gaps, key) -%}
    {%- for first_source, second_source, scope, pair_gaps in pairs_of_sources %}
        {{ 'union all' if not loop.first }}
        select
            {{ key | join(',\n            ') }},
            '{{ first_source }}+{{ second_source }}' as sources,
            '{{ first_source }}' as first_source,
            '{{ second_source }}' as second_source,
            '{{ scope }}' as scope,
            coalesce({{ pair_gaps | join(', ') }}) as gap
        from {{ gaps }}
    {%- endfor %}
{%- endmacro %}
