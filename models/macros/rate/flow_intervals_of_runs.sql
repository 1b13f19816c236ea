{#-
    Intervals of the flows of runs, in the direction of their data. It needs the relations flow_intervals, data_directions (of
    int_flow_direction_with_role) and runs.
-#}
{% macro from_flow_intervals() -%}
    from flow_intervals
    inner join data_directions
        on
            flow_intervals.source_hash = data_directions.source_hash
            and flow_intervals.flow_id = data_directions.flow_id
            and flow_intervals.direction = data_directions.direction
    inner join runs
        on
            data_directions.study_id = runs.study_id
            and data_directions.run_id = runs.run_id
{%- endmacro %}
