{#- Web: what sojourn_statistics.quality.web computes, over columns. A test holds the two to each other. -#}

{% macro mos_of_page_load_time(page_load_time_ms, least_ms, worst_ms) -%}
    least(
        cast(5 as double),
        greatest(
            cast(1 as double),
            5 - 4 * ln({{ page_load_time_ms }} / cast({{ least_ms }} as double))
            / ln({{ worst_ms }} / cast({{ least_ms }} as double))
        )
    )
{%- endmacro %}
