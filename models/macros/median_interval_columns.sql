{#-
    Confidence level of an exact interval of a median over replicates, or the reason why there is none.

    lower: expression for its lower bound. n: expression for the number of replicates with a value. unit: the unit of replication, in the
    singular: a literal or an expression. without: reason if no replicate has a value. otherwise: reason if there are enough replicates.
-#}
{% macro median_interval_columns(
    lower, n, unit="'run'", without='no run has a score that counts', otherwise='there are more than the table of ranks has'
) -%}
    case when {{ lower }} is not null then cast(0.95 as double) end as level_ratio,
        case
            when {{ lower }} is not null then null
            when {{ n }} = 0 then '{{ without }}'
            when {{ n }} = 1 then concat('one ', {{ unit }})
            when {{ n }} < 6 then concat('fewer than 6 ', {{ unit }}, 's: an exact 95% interval of the median needs 6')
            else '{{ otherwise }}'
        end as interval_null_reason
{%- endmacro %}

{#-
    Rank of the lower bound of an exact interval of a median over runs, joined to the relation `interval_ranks`. Beyond the table, it is
    the rank of the normal approximation, which makes the interval at most one rank wider.
-#}
{% macro lower_rank_of_runs(runs) -%}
    coalesce(
            interval_ranks.lower_rank,
            case when {{ runs }} > 1000 then cast(floor({{ runs }} / cast(2 as double) - 0.98 * sqrt({{ runs }})) as bigint) end
        )
{%- endmacro %}

{#- Values of runs, with the reason why a run does not count. measured: relation with study_id and run_id; `runs` is the mart run. -#}
{% macro with_exclusion_reason(measured) -%}
    select
        {{ measured }}.*,
        runs.exclusion_reason
    from {{ measured }}
    inner join runs
        on
            {{ measured }}.study_id = runs.study_id
            and {{ measured }}.run_id = runs.run_id
{%- endmacro %}

{#- Columns that must be equal if configurations are compared by queue alone. configurations: the mart configuration. -#}
{% macro setting_beside_queue(configurations) -%}
    {%- for column in ['study_id', 'workload', 'direction', 'bandwidth_bps', 'rtt_ms', 'application', 'rival_application'] -%}
        {{ configurations }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}
