{#- Columns of a voice score, in the order of the marts. scores: relation from which they are selected. -#}
{% macro voice_score_columns(scores) -%}
    {%- for column in [
        'packet_basis', 'packets', 'lost_packets', 'discarded_packets', 'loss_runs', 'lost_ratio',
        'discarded_ratio', 'unplayed_ratio', 'burst_ratio', 'base_delay_ms', 'queuing_delay_mean_ms', 'one_way_delay_ms',
        'delay_impairment', 'loss_impairment', 'transmission_rating', 'mos', 'quality_class', 'is_extrapolated',
        'score_null_reason'
    ] -%}
    {{ scores }}.{{ column }}{% if not loop.last %},
        {% endif %}
    {%- endfor %}
{%- endmacro %}

{#-
    Union of the relations, with the columns of an item under a model.

    relations: names of CTEs.
-#}
{% macro united_items(relations) -%}
    {%- for relation in relations %}
    {%- if not loop.first %}
    union all
    {%- endif %}
    select
        study_id,
        run_id,
        item,
        qoe_model_id,
        score_basis,
        cast(score as double) as score,
        cast(mos as double) as mos,
        quality_class,
        score_null_reason
    from {{ relation }}
    {%- endfor %}
{%- endmacro %}

{#- Whether a value is in the range of a class: at least its lower bound and below its upper bound, if it has them. -#}
{% macro is_in_range(value, ranges) -%}
    {{ value }} >= coalesce({{ ranges }}.lower_bound, {{ value }})
            and ({{ ranges }}.upper_bound is null or {{ value }} < {{ ranges }}.upper_bound)
{%- endmacro %}
