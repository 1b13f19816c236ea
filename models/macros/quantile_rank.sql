{#- Ranks start at 1 and are computed in whole numbers, so floating-point rounding cannot shift them. -#}

{#-
    Rank of a quantile among `n` ordered values by the inverted CDF (Hyndman and Fan's definition 1): the smallest value that at least a
    share `per_mille / 1000` of the values do not exceed. Quantiles of histograms follow this definition here and in sojourn_statistics.
-#}
{% macro quantile_rank(per_mille, n) -%}
    {{ integer_divide('cast(' ~ per_mille ~ ' as bigint) * ' ~ n ~ ' + 999', 1000) }}
{%- endmacro %}

{#-
    Rank of a percentile of single packets: the smallest value that more than the given share do not exceed, element int(q * n) of the
    sorted values, counted from 0. The validation of a run computes the same from the raw log. It differs from the quantile by one rank if
    q * n is a whole number.
-#}
{% macro percentile_rank(per_mille, n) -%}
    ({{ integer_divide('cast(' ~ per_mille ~ ' as bigint) * ' ~ n, 1000) }} + 1)
{%- endmacro %}

{#-
    Percentile of a group's values between two of them, as percentile_cont; null without values.

    share: as a number from 0 to 1. rank: of the row by its value, from 1, rows that do not count last. n: column with the number of rows
    that count.
-#}
{% macro percentile_by_rank(share, value, rank, n) -%}
    {%- set place -%}cast({{ share }} as double) * ({{ n }} - 1){%- endset -%}
    {%- set lower -%}max(case when {{ rank }} = floor({{ place }}) + 1 and {{ n }} > 0 then {{ value }} end){%- endset -%}
    {%- set upper -%}max(case when {{ rank }} = ceil({{ place }}) + 1 and {{ n }} > 0 then {{ value }} end){%- endset -%}
    {{ lower }} + ({{ upper }} - {{ lower }}) * max({{ place }} - floor({{ place }}))
{%- endmacro %}
