{#- Ranks are whole numbers, counted from 1, so that no rounding of a product shifts them. -#}

{#-
    Rank of a quantile among `n` ordered values by the inverted CDF (Hyndman and Fan's definition 1): the smallest value that at least
    a share `per_mille / 1000` of them do not exceed. What a quantile of a histogram means here and in sojourn_statistics.
-#}
{% macro quantile_rank(per_mille, n) -%}
    {{ integer_divide('cast(' ~ per_mille ~ ' as bigint) * ' ~ n ~ ' + 999', 1000) }}
{%- endmacro %}

{#-
    Rank of a percentile of single packets: the smallest value that more than its share do not exceed, element int(q * n) of the sorted
    values counted from 0. This is what validation of a run computes from the raw log, and differs from the quantile by one rank where q * n is a whole number.
-#}
{% macro percentile_rank(per_mille, n) -%}
    ({{ integer_divide('cast(' ~ per_mille ~ ' as bigint) * ' ~ n, 1000) }} + 1)
{%- endmacro %}
