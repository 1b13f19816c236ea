{#- One row for each whole number from 0 to below a bound; no row if the bound is 0 or less. For use in a select list. -#}

{% macro each_whole_number_below(bound) -%}
    {{ adapter.dispatch('each_whole_number_below', 'sojourn')(bound) }}
{%- endmacro %}

{% macro default__each_whole_number_below(bound) -%}
    unnest(range(0, {{ bound }}))
{%- endmacro %}

{% macro spark__each_whole_number_below(bound) -%}
    explode(filter(sequence(0L, greatest({{ bound }}, 1L) - 1L), number -> number < {{ bound }}))
{%- endmacro %}
