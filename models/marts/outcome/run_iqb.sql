{%- set key = ['study_id', 'run_id', 'role', 'delay_basis', 'latency_statistic'] -%}
-- Internet Quality Barometer scores of runs: for each run with a delay under load, and from the figures that a speed test itself reports.
with

outcomes as (
    select * from {{ ref('run_outcome') }}
),

throughputs as (
    select * from {{ ref('run_throughput') }}
),

stated_values as (
    select * from {{ ref('int_run_series_value') }}
    where
        measurement in ('speed_test', 'network_quality')
        and sample_basis = 'total'
        and series_name in ('latency', 'ping latency', 'ping', 'base_rtt', 'packetLoss')
),

requirements as (
    select * from {{ ref('int_iqb_share') }}
),

-- Only a file with a single result counts: with several servers, there are several latencies and none is chosen.
stated as (
    select
        study_id,
        run_id,
        max(case when series_metric = 'rtt_ms' then value end) as latency_ms,
        max(case when series_name = 'packetLoss' then case when unit = '%' then value / 100 else value end end) as loss_ratio
    from stated_values
    group by study_id, run_id
    having count(case when series_metric = 'rtt_ms' then 1 end) = 1
),

latencies as (
    select
        study_id,
        run_id,
        role,
        delay_basis,
        'idle' as latency_statistic,
        idle_rtt_ms as latency_ms,
        loss_ratio
    from outcomes
    {%- for statistic in ['median', 'p95', 'p99'] %}

        union all

        select
            study_id,
            run_id,
            role,
            delay_basis,
            'loaded_{{ statistic }}' as latency_statistic,
            loaded_rtt_{{ statistic }}_ms as latency_ms,
            loss_ratio
        from outcomes
    {%- endfor %}

    union all

    select
        study_id,
        run_id,
        'probe' as role,
        'speed_test_stated' as delay_basis,
        'idle' as latency_statistic,
        latency_ms,
        loss_ratio
    from stated
),

measured as (
    select
        latencies.*,
        throughputs.download_bps,
        throughputs.upload_bps
    from latencies
    left join throughputs
        on
            latencies.study_id = throughputs.study_id
            and latencies.run_id = throughputs.run_id
    where latencies.latency_ms is not null
),

given as (
    select
        measured.study_id,
        measured.run_id,
        measured.role,
        measured.delay_basis,
        measured.latency_statistic,
        requirements.use_case,
        requirements.requirement,
        requirements.better,
        requirements.threshold,
        requirements.share,
        case requirements.requirement
            when 'download_throughput_mbps' then measured.download_bps / 1000000
            when 'upload_throughput_mbps' then measured.upload_bps / 1000000
            when 'latency_ms' then measured.latency_ms
            when 'packet_loss' then measured.loss_ratio
        end as requirement_value
    from measured
    cross join requirements
),

judged as (
    select
        *,
        case when better = 'higher' then requirement_value > threshold else requirement_value < threshold end as is_met
    from given
),

-- Rounded to twelve digits, because the last bits of a sum depend on the order.
scored as (
    select
        {{ key | join(',\n        ') }},
        round(sum(case when is_met then share else 0 end), 12) as iqb_lower_score,
        round(sum(case when is_met or is_met is null then share else 0 end), 12) as iqb_upper_score,
        count(case when not is_met then 1 end) as requirements_unmet
    from judged
    group by {{ key | join(', ') }}
),

-- The requirement that costs most binds; of equal ones, the first by name.
unmet as (
    select
        {{ key | join(',\n        ') }},
        use_case,
        requirement,
        row_number() over (
            partition by {{ key | join(', ') }}
            order by share desc, use_case asc, requirement asc
        ) as place
    from judged
    where not is_met
),

final as (
    select
        measured.study_id,
        measured.run_id,
        measured.role,
        measured.delay_basis,
        measured.latency_statistic,
        measured.download_bps,
        measured.upload_bps,
        measured.latency_ms,
        measured.loss_ratio,
        case when scored.iqb_lower_score = scored.iqb_upper_score then scored.iqb_lower_score end as iqb_score,
        scored.iqb_lower_score,
        scored.iqb_upper_score,
        nullif(
            concat_ws(
                ', ',
                case when measured.download_bps is null then 'download' end,
                case when measured.upload_bps is null then 'upload' end,
                case when measured.loss_ratio is null then 'loss' end
            ), ''
        ) as missing_quantities,
        case when scored.iqb_lower_score != scored.iqb_upper_score then 'quantities are missing: the score is between two bounds' end
            as score_null_reason,
        scored.requirements_unmet,
        unmet.use_case as binding_use_case,
        unmet.requirement as binding_requirement
    from measured
    inner join scored
        on {{ same_columns('measured', 'scored', key) }}
    left join unmet
        on
            unmet.place = 1
            and {{ same_columns('measured', 'unmet', key) }}
)

select * from final
