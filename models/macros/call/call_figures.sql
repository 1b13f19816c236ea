{#-
    Sum of durations over the intervals of a group. A duration is counted when it ends, so in a second it may be longer than the second,
    but over a stream it cannot exceed the time of the polls.
-#}
{% macro call_duration(duration, is_bounded) -%}
    {%- if is_bounded -%}
        least({{ ordered_sum(duration) }}, cast(sum(case when {{ duration }} is not null then interval_ns end) as double) / 1e6)
    {%- else -%}
        {{ ordered_sum(duration) }}
    {%- endif -%}
{%- endmacro %}

{#-
    Figures of a call over the intervals of a group, shared by the marts of calls by second, by stream and by call. Means of values that
    every interval has are weighted by the length of the interval. Loss is of the intervals that have both counters; more packets than were
    sent cannot be lost.

    is_bounded: whether durations cannot exceed the time of the polls.
-#}
{% macro call_figures(is_bounded=true) -%}
    (max(end_ns) - min(start_ns)) / cast(1e6 as double) as duration_ms,
        cast(sum(packets) as bigint) as packets,
        cast(sum(lost_packets) as bigint) as lost_packets,
        cast(sum(payload_bytes) as double) * 8e9 / (max(end_ns) - min(start_ns)) as rate_bps,
        {%- set lost = 'greatest(sum(case when packets is not null then lost_packets end), 0)' %}
        {%- set sent = 'sum(case when lost_packets is not null then packets end)' %}
        case
            when sum(case when packets is not null then lost_packets end) is null then null
            when max(direction) = 'inbound' then cast({{ lost }} as double) / nullif({{ sent }} + {{ lost }}, 0)
            when {{ lost }} <= {{ sent }} then cast({{ lost }} as double) / nullif({{ sent }}, 0)
        end as lost_ratio,
        cast(sum(frames) as double) * 1e9 / nullif(sum(case when frames is not null then interval_ns end), 0) as frame_rate_hz,
        {{ call_weighted_mean('frame_width') }} as frame_width_mean,
        {{ call_weighted_mean('frame_height') }} as frame_height_mean,
        cast(sum(case when frames is not null then qp_sum end) as double)
        / nullif(sum(case when qp_sum is not null then frames end), 0) as qp_mean,
        cast(sum(nack_count) as bigint) as nack_count,
        cast(sum(pli_count) as bigint) as pli_count,
        cast(sum(fir_count) as bigint) as fir_count,
        {{ call_weighted_mean('jitter_ms') }} as jitter_mean_ms,
        {{ call_weighted_mean('rtt_ms') }} as rtt_mean_ms,
        {{ ordered_sum('case when jitter_buffer_emitted is not null then jitter_buffer_delay_ms end') }}
        / nullif(sum(case when jitter_buffer_delay_ms is not null then jitter_buffer_emitted end), 0) as jitter_buffer_mean_ms,
        cast(sum(freeze_count) as bigint) as freezes,
        {{ call_duration('freezes_duration_ms', is_bounded) }} as frozen_ms,
        {{ call_duration('freezes_duration_ms', is_bounded) }} * 1e6
        / nullif(sum(case when freezes_duration_ms is not null then interval_ns end), 0) as freeze_ratio,
        cast(sum(case when received_samples is not null then concealed_samples end) as double)
        / nullif(sum(case when concealed_samples is not null then received_samples end), 0) as concealed_ratio,
        {{ call_duration('bandwidth_limited_ms', is_bounded) }} as bandwidth_limited_ms,
        {{ call_duration('cpu_limited_ms', is_bounded) }} as cpu_limited_ms
{%- endmacro %}

{#- Columns of call_figures, selected from a relation that has them. -#}
{% macro call_figure_columns(figures) -%}
    {%- for column in [
        'duration_ms', 'packets', 'lost_packets', 'rate_bps', 'lost_ratio', 'frame_rate_hz', 'frame_width_mean', 'frame_height_mean',
        'qp_mean', 'nack_count', 'pli_count', 'fir_count', 'jitter_mean_ms', 'rtt_mean_ms', 'jitter_buffer_mean_ms', 'freezes', 'frozen_ms',
        'freeze_ratio', 'concealed_ratio', 'bandwidth_limited_ms', 'cpu_limited_ms',
    ] -%}
        {{ figures }}.{{ column }}{{ '' if loop.last else ', ' }}
    {%- endfor -%}
{%- endmacro %}

{#- Mean of a value over the intervals that have it, weighted by their length. -#}
{% macro call_weighted_mean(value) -%}
    {{ ordered_sum('cast(' ~ value ~ ' as double) * interval_ns') }} / nullif(sum(case when {{ value }} is not null then interval_ns end), 0)
{%- endmacro %}

{#- Change of a stream's counter since the previous poll. -#}
{% macro since_last_poll(counter) -%}
    {{ counter }} - lag({{ counter }}) over (
        partition by source_hash, peer_connection, ssrc, direction, stream_number
        order by poll_ns
    )
{%- endmacro %}
