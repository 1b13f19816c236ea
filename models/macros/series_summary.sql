{# What a series is and how many samples it has, over the samples of a group: the same in every table that sums series up. #}
{% macro series_summary() -%}
    {%- for column in series_parts().split() %}
        min({{ column }}) as {{ column }},
    {%- endfor %}
        count(value) as samples,
        count(*) - count(value) as unanswered_samples
{%- endmacro %}

{# The columns of series_summary of a relation. #}
{% macro series_columns(relation) -%}
    {%- for column in series_parts().split() + ['samples', 'unanswered_samples'] %}
        {{ relation }}.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{# The mean of the samples by exact sums, so that threads do not change the last digit. #}
{% macro series_mean() -%}
    cast(sum(cast(value as decimal(38, 6))) as double) / nullif(count(value), 0)
{%- endmacro %}

{# Names of the columns that say what a series is, as one text: `look` renders macros without dbt, where they cannot return a list. #}
{% macro series_parts() -%}
    series_name flow_name role flow_direction series_metric unit sample_basis
{%- endmacro %}
