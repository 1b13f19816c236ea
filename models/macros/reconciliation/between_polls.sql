{#-
    Two columns, is_surely_polled and is_perhaps_polled: whether a packet left the queue between the first poll of its counters and the last.
    A poll takes time, and the counters are read somewhere within it: what left the queue meanwhile may be in them or not.

    earliest_ns, latest_ns: between which the packet left the queue; the same where the time is known. counter_spans: the first and the last
    poll, of int_run_queue_counter_span.
-#}
{% macro between_polls(earliest_ns, latest_ns, counter_spans='counter_spans') -%}
    coalesce(
            {{ earliest_ns }} > {{ counter_spans }}.first_poll_end_ns
            and {{ latest_ns }} <= {{ counter_spans }}.last_poll_start_ns,
            false
        ) as is_surely_polled,
        coalesce(
            {{ latest_ns }} > {{ counter_spans }}.first_poll_start_ns
            and {{ earliest_ns }} <= {{ counter_spans }}.last_poll_end_ns,
            false
        ) as is_perhaps_polled
{%- endmacro %}
