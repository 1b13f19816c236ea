{#-
    Pairs of sources of a run that are compared, one query for each pair: `sources`, `first_source`, `second_source`, `scope` (what both
    can see), and `gap` (the reason why they cannot be compared; null if they can).

    pairs_of_sources: for each pair, the two sources, the scope, and the columns of their gaps, the one with precedence first. gaps:
    relation with these columns. key: columns of gaps that are kept.
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
