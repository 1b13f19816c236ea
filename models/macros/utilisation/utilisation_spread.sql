{#-
    Columns for the spread of utilisation over the seconds of a group: standard deviation, minimum, quartiles and maximum. The relation
    has utilisation_ratio, and the same in whole millionths, whose sum does not depend on the order.
-#}
{% macro utilisation_spread() -%}
    case
            when count(utilisation_millionths) > 1
                then
                    sqrt(
                        greatest(
                            cast(sum(cast(utilisation_millionths as decimal(19, 0)) * utilisation_millionths) as double)
                            - cast(sum(utilisation_millionths) as double) * cast(sum(utilisation_millionths) as double)
                            / count(utilisation_millionths),
                            0
                        )
                        / (count(utilisation_millionths) - 1)
                    )
                    / 1000000
        end as utilisation_standard_deviation_ratio,
        min(utilisation_ratio) as utilisation_min_ratio,
        {{ percentile('utilisation_ratio', 25) }} as utilisation_q1_ratio,
        {{ percentile('utilisation_ratio', 50) }} as utilisation_median_ratio,
        {{ percentile('utilisation_ratio', 75) }} as utilisation_q3_ratio,
        max(utilisation_ratio) as utilisation_max_ratio
{%- endmacro %}

{#-
    Bytes of a second as a share of what the link could carry; null in all seconds of a group if it is above 1,000 in any: then the link's
    rate, or the length of packets, is wrong.
-#}
{% macro share_of_link(bytes, link_rate_bps, partition_by) -%}
    case
            when max(cast({{ bytes }} as double) * 8 / {{ link_rate_bps }}) over (partition by {{ partition_by }}) <= 1000
                then cast({{ bytes }} as double) * 8 / {{ link_rate_bps }}
        end
{%- endmacro %}
