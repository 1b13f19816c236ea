{#- Interpolation rounds, so that a quartile may be beyond a median or an extreme that is next to it. -#}

{#- Lower quartile of a group's values, between the smallest and the median. -#}
{% macro lower_quartile(value) -%}
    greatest(least(percentile_cont(0.25) within group (order by {{ value }}), median({{ value }})), min({{ value }}))
{%- endmacro %}

{#- Upper quartile of a group's values, between the median and the largest. -#}
{% macro upper_quartile(value) -%}
    least(greatest(percentile_cont(0.75) within group (order by {{ value }}), median({{ value }})), max({{ value }}))
{%- endmacro %}
