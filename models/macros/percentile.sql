{#-
    Percentile of a group's values, interpolated as percentile_cont does: 5, 25, 50, 75 or 95. Interpolation rounds, even between equal
    values, so a percentile is kept between the extremes, and the median between the two values in the middle. Then each is kept on its
    side of the next one towards the median.
-#}
{% macro percentile(value, percent) -%}
    {%- if percent == 50 -%}
        {{
            clamped(
                'median(' ~ value ~ ')',
                'percentile_disc(0.5) within group (order by ' ~ value ~ ')',
                'percentile_disc(0.5) within group (order by ' ~ value ~ ' desc)',
            )
        }}
    {%- else -%}
        {%- set inner = percentile(value, {5: 25, 25: 50, 75: 50, 95: 75}[percent]) -%}
        {%- set interpolated = 'percentile_cont(' ~ percent / 100 ~ ') within group (order by ' ~ value ~ ')' -%}
        {%- if percent < 50 -%}
            {{ clamped(interpolated, 'min(' ~ value ~ ')', inner) }}
        {%- else -%}
            {{ clamped(interpolated, inner, 'max(' ~ value ~ ')') }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
