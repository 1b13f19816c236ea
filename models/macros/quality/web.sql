{#- mos_of_page_load_time is the SQL version of the function in sojourn_statistics.quality.web. A test compares the two. -#}

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

{#-
    Columns of the share of round trips in page loads. loads has page_load_time_ms, round_trips (null if the number of round trips of the
    page is unknown), loaded_rtt_ms and rtt_null_reason. A load that ends before its round trips could have ended has fewer of them, or
    shorter ones than its run.

    loads: relation. dominating_ratio: expression for the share from which round trips dominate.
-#}
{% macro round_trip_columns(loads, dominating_ratio) -%}
    {%- set ratio = loads ~ '.round_trips * ' ~ loads ~ '.loaded_rtt_ms / nullif(' ~ loads ~ '.page_load_time_ms, 0)' -%}
    case when {{ ratio }} <= 1 then {{ ratio }} end as round_trip_ratio,
        case
            when {{ ratio }} > 1 then null
            when {{ ratio }} >= {{ dominating_ratio }} then 'round trips'
            when {{ ratio }} is not null then 'losses and rate'
        end as dominated_by,
        case
            when {{ loads }}.page_load_time_ms is null then 'no load time'
            when {{ loads }}.round_trips is null then 'the round trips of this page are not known'
            when {{ loads }}.loaded_rtt_ms is null then {{ loads }}.rtt_null_reason
            when {{ ratio }} > 1 then 'the load took less time than its round trips: it has fewer, or shorter ones'
        end as round_trip_null_reason
{%- endmacro %}

{#-
    Whether a load estimated from flows may be of IMC'14's page: that page's bytes over one connection. page: relation with page_bytes and
    page_bytes_more.
-#}
{% macro is_known_page(loads, page) -%}
    {{ loads }}.connections = 1
            and {{ loads }}.answer_bytes >= {{ page }}.page_bytes
            and {{ loads }}.answer_bytes <= {{ page }}.page_bytes * (1 + {{ page }}.page_bytes_more)
{%- endmacro %}

{#-
    IMC'14's page in one row: its bytes, and the share from which round trips dominate. parameters: parameters of its model.
-#}
{% macro page_of_parameters(parameters='parameters') -%}
    select
        max(case when parameter = 'round_trips_dominate' then parameter_value end) as dominating_ratio,
        max(case when parameter = 'page_bytes' then parameter_value end) as page_bytes,
        max(case when parameter = 'page_bytes_more' then parameter_value end) as page_bytes_more
    from {{ parameters }}
{%- endmacro %}
