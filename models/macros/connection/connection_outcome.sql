{#-
    `counted`, or the reason why a connection has no queuing delay: one rule for what kernels and clients report and for what captures show.
    Only counts of true samples are held against the filter. One poll shows one value, and so no spread.
-#}
{% macro connection_outcome(minimum_us, maximum_us, sample_basis, samples) -%}
    case
        when {{ minimum_us }} is null and {{ maximum_us }} is null then 'no_rtt'
        when {{ minimum_us }} is null then 'no_minimum_rtt'
        when {{ maximum_us }} is null then 'no_maximum_rtt'
        when {{ minimum_us }} < 0 or {{ maximum_us }} < {{ minimum_us }} then 'maximum_below_minimum'
        when {{ sample_basis }} = 'rtt_samples' and {{ samples }} is null then 'samples_not_counted'
        when {{ sample_basis }} = 'rtt_samples' and {{ samples }} < 10 then 'fewer_than_10_samples'
        when {{ sample_basis }} = 'polls' and coalesce({{ samples }}, 0) < 2 then 'fewer_than_2_polls'
        else 'counted'
    end
{%- endmacro %}
