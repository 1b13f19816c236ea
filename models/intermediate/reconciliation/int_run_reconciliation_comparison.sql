with

runs as (
    select * from {{ ref('int_run_described') }}
),

gaps as (
    select * from {{ ref('int_run_source_gap') }}
),

log_totals as (
    select * from {{ ref('int_run_queue_log_total') }}
),

pair_totals as (
    select * from {{ ref('int_run_capture_pair_total') }}
),

counter_spans as (
    select * from {{ ref('int_run_queue_counter_span') }}
),

delay_means as (
    select * from {{ ref('int_run_delay_pair_mean') }}
),

bounds as (
    select * from {{ ref('reconciliation_bound') }}
),

thresholds as (
    select * from {{ ref('queue_threshold') }}
    where threshold_id = 'full-size-frame'
),

-- Where what a capture or a log saw depends on when the counters were polled, the range is of the first source: turned
-- round, so that the difference is of the first less the second as everywhere.
{% for quantity, passed in [('packets', 'packets'), ('bytes', 'bytes'), ('drops', 'packets')] %}
    {%- set counted = 'dropped_packets' if quantity == 'drops' else 'sent_' ~ passed %}
    {%- set logged = 'dropped_packets' if quantity == 'drops' else 'dequeued_' ~ passed %}
    {%- set paired = 'dropped_packets' if quantity == 'drops' else 'passed_' ~ passed %}
    {{ quantity }}_compared as (
        select
            gaps.study_id,
            gaps.run_id,
            '{{ quantity }}' as quantity,
            'queue_log+capture_pair' as sources,
            cast(log_totals.declared_{{ logged }} as double) as first_value,
            cast(pair_totals.declared_{{ paired }} as double) as second_least_value,
            cast(pair_totals.declared_{{ paired }} + pair_totals.declared_in_flight_{{ passed }} as double) as second_most_value,
            coalesce(gaps.queue_log_gap, gaps.capture_pair_gap) as gap
        from gaps
        left join log_totals
            on
                gaps.study_id = log_totals.study_id
                and gaps.run_id = log_totals.run_id
        left join pair_totals
            on
                gaps.study_id = pair_totals.study_id
                and gaps.run_id = pair_totals.run_id
        {% for source, totals, seen in [('queue_log', 'log_totals', logged), ('capture_pair', 'pair_totals', paired)] %}
            union all

            select
                gaps.study_id,
                gaps.run_id,
                '{{ quantity }}' as quantity,
                '{{ source }}+queue_counters' as sources,
                -- Least and greatest pass nulls over: what is not known would be what the counters say.
                case
                    when {{ totals }}.polled_least_{{ seen }} is not null and {{ totals }}.polled_most_{{ seen }} is not null
                        then cast(
                            greatest(
                                least(counter_spans.{{ counted }}, {{ totals }}.polled_most_{{ seen }}),
                                {{ totals }}.polled_least_{{ seen }}
                            ) as double
                        )
                end as first_value,
                cast(counter_spans.{{ counted }} as double) as second_least_value,
                cast(counter_spans.{{ counted }} as double) as second_most_value,
                coalesce(gaps.{{ source }}_gap, gaps.queue_counters_gap{{ ', gaps.capture_clock_gap' if source == 'capture_pair' }}) as gap
            from gaps
            left join {{ totals }}
                on
                    gaps.study_id = {{ totals }}.study_id
                    and gaps.run_id = {{ totals }}.run_id
            left join counter_spans
                on
                    gaps.study_id = counter_spans.study_id
                    and gaps.run_id = counter_spans.run_id
        {% endfor -%}
    ),

{% endfor %}
delays_compared as (
    select
        gaps.study_id,
        gaps.run_id,
        'delay_mean' as quantity,
        'queue_log+capture_pair' as sources,
        delay_means.sojourn_mean_ms as first_value,
        delay_means.queuing_delay_mean_ms as second_least_value,
        delay_means.queuing_delay_mean_ms as second_most_value,
        coalesce(gaps.queue_log_gap, gaps.capture_pair_gap) as gap
    from gaps
    left join delay_means
        on
            gaps.study_id = delay_means.study_id
            and gaps.run_id = delay_means.run_id
),

all_compared as (
    select * from packets_compared
    union all
    select * from bytes_compared
    union all
    select * from drops_compared
    union all
    select * from delays_compared
),

bounded as (
    select
        all_compared.study_id,
        all_compared.run_id,
        all_compared.quantity,
        all_compared.sources,
        all_compared.first_value,
        greatest(least(all_compared.first_value, all_compared.second_most_value), all_compared.second_least_value) as second_value,
        coalesce(
            all_compared.gap,
            case
                when
                    all_compared.sources = 'queue_log+capture_pair'
                    and coalesce(log_totals.declared_dequeued_packets + log_totals.declared_dropped_packets, 0) = 0
                    and coalesce(pair_totals.declared_passed_packets + pair_totals.declared_dropped_packets, 0) = 0
                    then 'neither source has a packet of a declared flow'
                when all_compared.quantity = 'bytes' and all_compared.first_value is null and all_compared.second_least_value is not null
                    then 'the bytes of some packets are not known'
                when all_compared.first_value is null or all_compared.second_least_value is null then 'no packet is in both sources'
            end
        ) as gap,
        bounds.bound_id,
        bounds.bound_version,
        bounds.absolute_bound
        + bounds.relative_bound_ratio * greatest(all_compared.first_value, all_compared.second_least_value)
        + bounds.bound_full_size_frames * thresholds.threshold_value * 8000 / runs.bandwidth_bps as bound
    from all_compared
    inner join runs
        on
            all_compared.study_id = runs.study_id
            and all_compared.run_id = runs.run_id
    inner join bounds
        on
            all_compared.quantity = bounds.quantity
            and all_compared.sources = bounds.sources
    left join log_totals
        on
            all_compared.study_id = log_totals.study_id
            and all_compared.run_id = log_totals.run_id
    left join pair_totals
        on
            all_compared.study_id = pair_totals.study_id
            and all_compared.run_id = pair_totals.run_id
    cross join thresholds
),

final as (
    select
        study_id,
        run_id,
        quantity,
        sources,
        case when gap is null then first_value end as first_value,
        case when gap is null then second_value end as second_value,
        case when gap is null then first_value - second_value end as difference,
        bound_id,
        bound_version,
        case when gap is null then bound end as bound,
        case when gap is null then abs(first_value - second_value) <= bound end as agrees,
        gap
    from bounded
)

select * from final
