{#- Sum of whole numbers as a bigint: at most 2^53 - 1, up to which a double is exact; damaged values add up beyond 64 bits. -#}
{% macro bounded_sum(value) -%}
    cast(least(sum(cast({{ value }} as decimal(19, 0))), 9007199254740991) as bigint)
{%- endmacro %}
