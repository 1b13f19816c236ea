{#-
    Whether runs or configurations match the axes in a row of a seed, as an SQL condition. An empty axis matches everything, lists are
    separated by semicolons, and a queue size matches within 1 %.

    asked: relation of a seed of findings. measured: relation of run_metric or configuration_metric.
-#}
{% macro has_finding_axes(asked, measured) -%}
    ({{ asked }}.workload is null or {{ asked }}.workload = {{ measured }}.workload)
        and ({{ asked }}.direction is null or {{ asked }}.direction = {{ measured }}.direction)
        and ({{ asked }}.aqm is null or {{ asked }}.aqm = {{ measured }}.aqm)
        and {{ is_queue_size(asked ~ '.queue_size_bdp', measured ~ '.queue_size_bdp') }}
        and ({{ asked }}.bandwidth_low_bps is null or {{ asked }}.bandwidth_low_bps <= {{ measured }}.bandwidth_bps)
        and ({{ asked }}.bandwidth_high_bps is null or {{ asked }}.bandwidth_high_bps >= {{ measured }}.bandwidth_bps)
        and ({{ asked }}.rtt_ms is null or {{ asked }}.rtt_ms = {{ measured }}.rtt_ms)
        and {{ is_listed(asked ~ '.congestion_controls', measured ~ '.congestion_control') }}
        and {{ is_listed(asked ~ '.start_orders', measured ~ '.start_order') }}
{%- endmacro %}

{#- Whether a queue has the required size, within 1 %; a null matches every size. -#}
{% macro is_queue_size(asked, measured) -%}
    ({{ asked }} is null or abs({{ asked }} - {{ measured }}) <= 0.01 * {{ asked }})
{%- endmacro %}

{#- Whether a value is in a list separated by semicolons; an empty list matches every value, even null. -#}
{% macro is_listed(listed, value) -%}
    ({{ listed }} is null or instr(';' || {{ listed }} || ';', ';' || {{ value }} || ';') > 0)
{%- endmacro %}
