{#-
    Condition that one part of a demand rule sets for a solo run, as text: `any`, the judged run's own value (`same`), or the value that
    the rule names. `none` requires a null, where the judged value is null. A rule that selects no run gives `any`.

    is_number: whether the value is a number.
-#}
{% macro demand_rule_selection(rule, judged_value, is_number=false) -%}
    case
        when not demand_rules.selects or {{ rule }} = 'any' then 'any'
        {%- if is_number %}
            when {{ rule }} = 'same' then coalesce({{ plain_text(judged_value) }}, 'none')
            else {{ plain_text(rule) }}
        {%- else %}
            when {{ rule }} = 'same' then {{ id_part(judged_value, 'none', ['any']) }}
            when {{ rule }} = 'none' then 'none'
            else {{ id_part(rule) }}
        {%- endif %}
    end
{%- endmacro %}

{#- Whether a solo run's text, null or not, meets the condition given as text. -#}
{% macro demand_selection_matches(selection, solo_value) -%}
    ({{ selection }} = 'any' or {{ selection }} = {{ id_part(solo_value, 'none', ['any']) }})
{%- endmacro %}

{#-
    Whether a solo run's number, null or not, meets the condition given as text. A relative tolerance lets a queue size match that was
    rounded to whole bytes.
-#}
{% macro demand_selection_matches_number(selection, solo_value, relative_tolerance=0) -%}
    (
        {{ selection }} = 'any'
        or ({{ selection }} = 'none' and {{ solo_value }} is null)
        or abs(try_cast({{ selection }} as double) - {{ solo_value }})
        <= {{ relative_tolerance }} * abs(try_cast({{ selection }} as double))
    )
{%- endmacro %}

{#- Columns with the conditions that a demand rule sets for a solo run, as text. -#}
{% macro demand_selections() -%}
    {{
        return([
            'bandwidth_selection', 'rtt_selection', 'queue_size_bdp_selection', 'aqm_selection', 'congestion_control_selection', 'workload_selection'
        ])
    }}
{%- endmacro %}
