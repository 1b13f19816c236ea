{#-
    One row for each whole number from 0 to below a bound; no row if the bound is 0 or less. For use in a select list.

    DuckDB keeps the numbers of 2,048 rows in memory before it writes the first one: for large bounds, use rows_of_whole_numbers_below.
-#}

{% macro each_whole_number_below(bound) -%}
    {{ adapter.dispatch('each_whole_number_below', 'sojourn')(bound) }}
{%- endmacro %}

{% macro default__each_whole_number_below(bound) -%}
    unnest(range(0, {{ bound }}))
{%- endmacro %}

{% macro spark__each_whole_number_below(bound) -%}
    explode(filter(sequence(0L, greatest({{ bound }}, 1L) - 1L), number -> number < {{ bound }}))
{%- endmacro %}


{#-
    A relation's rows, each as often as a bound says, with the whole numbers from 0 to below it: a thousand at a time, so that it takes
    no memory for many rows with large bounds.

    relation: relation with the columns; bound: expression over them; number: name of the column of numbers.
-#}
{% macro rows_of_whole_numbers_below(relation, columns, bound, number) -%}
    {%- set kept = columns | join(', ') %}
    select
        {{ kept }},
        1000 * thousand + below_thousand as {{ number }}
    from (
        select
            {{ kept }},
            thousand,
            {{ each_whole_number_below('least(number_bound - 1000 * thousand, 1000)') }} as below_thousand
        from (
            select
                {{ kept }},
                number_bound,
                {{ each_whole_number_below(integer_divide('number_bound + 999', 1000)) }} as thousand
            from (select {{ kept }}, {{ bound }} as number_bound from {{ relation }}) as bounded
        ) as thousands
    ) as numbers
{%- endmacro %}
