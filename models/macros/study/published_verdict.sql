{#-
    What a value says of a finding: inside its tolerance, on the same side, or against it. A finding without a tolerance or without a side has none.

    value: expression of the value. findings: relation with tolerance_low and tolerance_high. mappings: relation with direction_low and direction_high.
-#}
{% macro published_verdict(value, findings, mappings) -%}
    case
        when
            coalesce({{ findings }}.tolerance_low, {{ findings }}.tolerance_high) is not null
            and ({{ findings }}.tolerance_low is null or {{ value }} >= {{ findings }}.tolerance_low)
            and ({{ findings }}.tolerance_high is null or {{ value }} <= {{ findings }}.tolerance_high)
            then 'inside tolerance'
        when
            coalesce({{ mappings }}.direction_low, {{ mappings }}.direction_high) is not null
            and ({{ mappings }}.direction_low is null or {{ value }} >= {{ mappings }}.direction_low)
            and ({{ mappings }}.direction_high is null or {{ value }} <= {{ mappings }}.direction_high)
            then 'same direction'
        else 'contradicts'
    end
{%- endmacro %}
