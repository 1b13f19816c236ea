{#-
    Columns is_surely_polled and is_perhaps_polled: whether a packet left the queue between the first and the last poll of its counters. A
    poll takes time and reads the counters at an unknown moment within it, so they may or may not include packets that leave during the
    poll.

    earliest_ns, latest_ns: bounds of the time at which the packet left the queue; equal if the time is known. counter_spans: the first
    and the last poll, from int_run_queue_counter_span.
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

{#-
    Columns place and place_from_end: the polls of each discipline of a run, numbered from the first and from the last.

    polls: relation with poll_index, joined with the relation run_sources. columns: columns of polls that distinguish disciplines or parts
    of them.
-#}
{% macro places_of_polls(polls, columns) -%}
    {%- set apart -%}
        run_sources.study_id, run_sources.run_id{% for column in columns %}, {{ polls }}.{{ column }}{% endfor %}
    {%- endset -%}
    row_number() over (
            partition by {{ apart }}
            order by {{ polls }}.poll_index
        ) as place,
        row_number() over (
            partition by {{ apart }}
            order by {{ polls }}.poll_index desc
        ) as place_from_end
{%- endmacro %}

{#-
    Whether one of the counters is below its value at the poll before, because its discipline was replaced, or the file is damaged.

    polls and columns: as for places_of_polls. counters: their columns.
-#}
{% macro any_counter_falls(polls, counters, columns=['device', 'handle']) -%}
    {%- set apart -%}
        run_sources.study_id, run_sources.run_id{% for column in columns %}, {{ polls }}.{{ column }}{% endfor %}
    {%- endset -%}
    (
        {%- for counter in counters %}
            {{ 'or ' if not loop.first }}coalesce(
                {{ polls }}.{{ counter }} < lag({{ polls }}.{{ counter }}) over (
                    partition by {{ apart }}
                    order by {{ polls }}.poll_index
                ),
                false
            )
        {%- endfor %}
        )
{%- endmacro %}

{#- Growth of a counter from the first poll to the last; see places_of_polls. -#}
{% macro growth_between_polls(counter) -%}
    max(case when place_from_end = 1 then {{ counter }} end) - max(case when place = 1 then {{ counter }} end)
{%- endmacro %}

{#-
    Whether counters can have grown by as much: no link carries more than 10 Tbit/s in packets of 64 bytes. Times of polls may be whole
    seconds, so a second of 100 Gbit/s may be between two polls of the same time.

    counts: columns with growths of packets or events. bytes: column with the growth of bytes. polled_ms: time between the polls.
-#}
{% macro is_possible_growth(counts, bytes, polled_ms) -%}
    (
        coalesce(cast({{ bytes }} as double), 0) <= 1.25e9 * {{ polled_ms }} + 1.25e10
        {%- for count in counts %}
            and coalesce(cast({{ count }} as double), 0) <= 2e7 * {{ polled_ms }} + 2e8
        {%- endfor %}
    )
{%- endmacro %}

{#-
    Least number of packets that a discipline marked. DualPI2 includes step marks in its count of all marks, and counts a packet twice if
    coupling had already marked it (dualpi2_mark in Linux's sch_dualpi2.c).
-#}
{% macro least_marked_packets(marks, step_marks) -%}
    case
            when {{ marks }} is not null
                then least(greatest({{ marks }} - coalesce({{ step_marks }}, 0), coalesce({{ step_marks }}, 0)), {{ marks }})
        end
{%- endmacro %}

{#- Whether more packets were marked than left and were queued: a packet is marked when it enters or leaves a queue. -#}
{% macro marks_exceed_packets(marks, step_marks, sent_packets, queued_packets) -%}
    coalesce({{ least_marked_packets(marks, step_marks) }} > {{ sent_packets }} + coalesce({{ queued_packets }}, 0), false)
{%- endmacro %}
