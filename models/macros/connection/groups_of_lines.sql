{#-
    Groups of an access network and the unit that is counted in each: `line` is a circuit, or a host where no circuit is known. Within a
    circuit, the unit is the host. The values are SQL for the group's name and its unit, by kind of group.
-#}
{% macro groups_of_lines() -%}
    {%- set line = 'coalesce(circuit_key, client_host_key)' -%}
    {%- set words = ['all', 'withheld'] -%}
    {%- set plan -%}
        case
            when plan_down_bps is null or plan_up_bps is null then 'unknown'
            when plan_down_bps % 1000000 = 0 and plan_up_bps % 1000000 = 0
                then concat(
                    cast({{ integer_divide('plan_down_bps', 1000000) }} as string), '/',
                    cast({{ integer_divide('plan_up_bps', 1000000) }} as string), ' Mbit/s'
                )
            when plan_down_bps % 1000 = 0 and plan_up_bps % 1000 = 0
                then concat(
                    cast({{ integer_divide('plan_down_bps', 1000) }} as string), '/',
                    cast({{ integer_divide('plan_up_bps', 1000) }} as string), ' kbit/s'
                )
            else concat(cast(plan_down_bps as string), '/', cast(plan_up_bps as string), ' bit/s')
        end
    {%- endset -%}
    {{
        return({
            'all': ("'all'", line),
            'site': (id_part('site_key', 'unknown', words, separators=''), line),
            'asn': ("coalesce(cast(asn as string), 'unknown')", line),
            'plan': (plan, line),
            'circuit': (id_part('circuit_key', 'unknown', words, separators=''), 'client_host_key'),
        })
    }}
{%- endmacro %}

{#-
    Rank, among n ordered values, of the lower bound of the 95 % interval of their median (Thompson 1936); the upper bound has rank n + 1
    - lower. For six or more values, the interval holds at least 95 %; for fewer, there is none. Half the width is that of the normal
    approximation, rounded outwards, which transforms/tests/statistics/test_median_ranks_of_sql.py compares with the exact binomial.
-#}
{% macro lower_rank_of_median(n) -%}
    greatest(cast(floor({{ n }} / 2.0 - 0.98 * sqrt({{ n }})) as bigint), 1)
{%- endmacro %}

{#-
    Ranks, among n ordered values, of the bounds of the 95 % interval of a percentile. There is an interval if the lower rank is at least
    1 and the upper rank at most n. For the median, the ranks are those above. For other percentiles, they come from the normal
    approximation of the binomial, rounded outwards; the same test compares it with the exact one.
-#}
{% macro lower_rank_of_quantile(percentile, n) -%}
    case
            when {{ percentile }} = 50 then case when {{ n }} >= 6 then {{ lower_rank_of_median(n) }} else 0 end
            else cast(floor({{ n }} * {{ percentile }} / 100.0 - {{ half_width_of_ranks(percentile, n) }}) as bigint)
        end
{%- endmacro %}

{% macro upper_rank_of_quantile(percentile, n) -%}
    case
            when {{ percentile }} = 50 then {{ n }} + 1 - {{ lower_rank_of_median(n) }}
            else cast(ceil({{ n }} * {{ percentile }} / 100.0 + {{ half_width_of_ranks(percentile, n) }}) as bigint) + 1
        end
{%- endmacro %}

{% macro half_width_of_ranks(percentile, n) -%}
    1.96 * sqrt({{ n }} * {{ percentile }} * (100 - {{ percentile }})) / 100.0
{%- endmacro %}
