{#- Period columns of a row of `int_access_delay_day`: kind, name and hour of the period. -#}
{% macro access_period_columns(delays='delays', parts='parts') -%}
case when {{ delays }}.hour_of_day < 0 then 'day' else 'hour' end as period_kind,
        case
            when {{ delays }}.hour_of_day < 0 then cast({{ parts }}.start_date as string)
            else
                concat(
                    cast({{ parts }}.start_date as string),
                    case when {{ delays }}.hour_of_day < 10 then ' 0' else ' ' end,
                    cast({{ delays }}.hour_of_day as string),
                    ':00'
                )
        end as period,
        case when {{ delays }}.hour_of_day >= 0 then {{ delays }}.hour_of_day end as hour_of_day
{%- endmacro %}
