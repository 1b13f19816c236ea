{#-
    Columns for the difference in delay between the queue log and the captures, over a group of packets with difference_ns and
    is_beyond_frame.
-#}
{% macro delay_difference_figures() -%}
    count(*) as packets,
        count(case when is_beyond_frame then 1 end) as beyond_frame_packets,
        cast(sum(difference_ns) as double) / count(*) / 1000000 as difference_mean_ms,
        {{ percentile('difference_ns', 5) }} / 1000000 as difference_p5_ms,
        {{ percentile('difference_ns', 25) }} / 1000000 as difference_q1_ms,
        {{ percentile('difference_ns', 50) }} / 1000000 as difference_median_ms,
        {{ percentile('difference_ns', 75) }} / 1000000 as difference_q3_ms,
        {{ percentile('difference_ns', 95) }} / 1000000 as difference_p95_ms,
        cast(min(difference_ns) as double) / 1000000 as difference_min_ms,
        cast(max(difference_ns) as double) / 1000000 as difference_max_ms
{%- endmacro %}
