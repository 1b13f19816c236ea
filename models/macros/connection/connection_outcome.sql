{#-
    `counted`, or the reason why a connection has no queuing delay: one rule for values reported by kernels and clients and for values
    from captures. The minimum number of samples applies only to counts of true RTT samples. A single poll shows one value, so it has
    no spread.
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
