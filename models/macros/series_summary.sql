{# Columns that identify a series and count its samples, over the samples of a group; shared by every table that summarises series. #}
{% macro series_summary() -%}
    {%- for column in series_parts().split() %}
        min({{ column }}) as {{ column }},
    {%- endfor %}
        count(value) as samples,
        count(*) - count(value) as unanswered_samples
{%- endmacro %}

{# Columns of series_summary, selected from a relation. #}
{% macro series_columns(relation) -%}
    {%- for column in series_parts().split() + ['samples', 'unanswered_samples'] %}
        {{ relation }}.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{#
    Mean of the samples from exact sums, so the number of threads does not change the last digit, and rounded to no more than the largest
    and no less than the smallest of them.
#}
{% macro series_mean() -%}
    {{ clamped('cast(sum(cast(value as decimal(38, 6))) as double) / nullif(count(value), 0)', 'min(value)', 'max(value)') }}
{%- endmacro %}

{# Names of the columns that identify a series, as one text: `look` renders macros without dbt, where they cannot return a list. #}
{% macro series_parts() -%}
    series_name flow_name role flow_direction series_metric unit sample_basis
{%- endmacro %}
