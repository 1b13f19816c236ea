-- Runs of one configuration have the same dimensions.
with

configurations as (
    select * from {{ ref('int_run_configuration') }}
),

runs as (
    select * from {{ ref('int_run_described') }}
),

final as (
    select configurations.configuration_id
    from configurations
    inner join runs
        on
            configurations.study_id = runs.study_id
            and configurations.run_id = runs.run_id
    group by configurations.configuration_id
    having
        {%- for dimension in dimension_names('configuration') if dimension != 'queue_label' %}
            {% if not loop.first %}or {% endif -%}
            count(distinct runs.{{ dimension }}) + max(case when runs.{{ dimension }} is null then 1 else 0 end) > 1
        {%- endfor %}
)

select * from final
