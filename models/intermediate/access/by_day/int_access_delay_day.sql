{#- RTT of the lines of an access network, by served group. Hour -1 is the whole day. -#}
{%- set group = ['access_part_fingerprint', 'hour_of_day', 'group_kind', 'group_name'] -%}
{%- set cell = ['access_part_fingerprint', 'hour_of_day', 'group_kind', 'group_name', 'metric'] -%}
{#- Percentiles over lines. The ranking of groups depends on the percentile. -#}
{%- set percentiles = [50, 75, 90, 95, 99] -%}
with

parts as (
    select connection_parts.*
    from {{ ref('int_passive_rtt_part') }} as connection_parts
    {% if is_incremental() %}
        where connection_parts.access_part_fingerprint not in (select distinct made.access_part_fingerprint from {{ this }} as made)
    {% endif %}
),

samples as (
    select * from {{ ref('stg_lake__passive_rtt') }}
),

host_hours as (
    select
        parts.access_part_fingerprint,
        cast({{ integer_divide('samples.hour_start_ns', 3600000000000) }} % 24 as int) as hour_of_day,
        samples.client_host_key,
        samples.circuit_key,
        samples.site_key,
        samples.asn,
        samples.plan_down_bps,
        samples.plan_up_bps,
        {{ bounded_sum('samples.rtt_samples') }} as rtt_samples,
        {{ bounded_sum('samples.rtt_sum_us') }} as rtt_sum_us,
        min(samples.rtt_min_us) as rtt_min_us
    from samples
    inner join parts
        on
            {{ utc_date('samples.hour_start_ns') }} = parts.start_date
            and samples.dataset = parts.dataset
            and samples.synthetic = parts.synthetic
    group by
        parts.access_part_fingerprint,
        cast({{ integer_divide('samples.hour_start_ns', 3600000000000) }} % 24 as int),
        samples.client_host_key,
        samples.circuit_key,
        samples.site_key,
        samples.asn,
        samples.plan_down_bps,
        samples.plan_up_bps
),

floors as (
    select
        access_part_fingerprint,
        client_host_key,
        min(rtt_min_us) as floor_us
    from host_hours
    group by access_part_fingerprint, client_host_key
),

-- Sum, over a host's samples, of the RTT above the host's minimum RTT of the day.
increased as (
    select
        host_hours.*,
        cast(greatest(
            cast(host_hours.rtt_sum_us as decimal(38, 0))
            - cast(host_hours.rtt_samples as decimal(18, 0)) * cast(floors.floor_us as decimal(18, 0)),
            0
        ) as bigint) as increase_sum_us
    from host_hours
    inner join floors
        on
            host_hours.access_part_fingerprint = floors.access_part_fingerprint
            and host_hours.client_host_key = floors.client_host_key
),

host_periods as (
    select
        access_part_fingerprint,
        hour_of_day,
        client_host_key,
        circuit_key,
        site_key,
        asn,
        plan_down_bps,
        plan_up_bps,
        rtt_samples,
        rtt_sum_us,
        increase_sum_us
    from increased

    union all

    select
        access_part_fingerprint,
        -1 as hour_of_day,
        client_host_key,
        circuit_key,
        site_key,
        asn,
        plan_down_bps,
        plan_up_bps,
        {{ bounded_sum('rtt_samples') }} as rtt_samples,
        {{ bounded_sum('rtt_sum_us') }} as rtt_sum_us,
        {{ bounded_sum('increase_sum_us') }} as increase_sum_us
    from increased
    group by access_part_fingerprint, client_host_key, circuit_key, site_key, asn, plan_down_bps, plan_up_bps
),

in_groups as (
    {%- for kind, (name, unit) in groups_of_lines().items() %}
        {{ 'union all' if not loop.first }}
        select
            access_part_fingerprint,
            hour_of_day,
            '{{ kind }}' as group_kind,
            {{ name }} as group_name,
            {{ unit }} as line_key,
            rtt_samples,
            rtt_sum_us,
            increase_sum_us
        from host_periods
        {%- if kind == 'circuit' %}
            where hour_of_day = -1
        {%- endif %}
    {%- endfor %}
),

lines as (
    select
        {{ group | join(',\n        ') }},
        line_key,
        count(*) as hosts,
        {{ bounded_sum('rtt_samples') }} as rtt_samples,
        {{ bounded_sum('rtt_sum_us') }} as rtt_sum_us,
        {{ bounded_sum('increase_sum_us') }} as increase_sum_us
    from in_groups
    group by {{ group | join(', ') }}, line_key
),

sizes as (
    select
        {{ group | join(',\n        ') }},
        count(*) as group_lines
    from lines
    group by {{ group | join(', ') }}
),

ranked as (
    select
        *,
        sum(case when group_lines < {{ minimum_hosts() }} then group_lines else 0 end)
            over (partition by access_part_fingerprint, hour_of_day, group_kind) as lines_left_out,
        row_number()
            over (
                partition by access_part_fingerprint, hour_of_day, group_kind
                order by case when group_lines >= {{ minimum_hosts() }} then 0 else 1 end, group_lines, group_name
            ) as large_enough_rank
    from sizes
),

-- Groups with too few lines are merged into one, `withheld`. If it still has too few lines, the smallest of the other groups is merged into
-- it as well.
served_names as (
    select
        {{ group | join(',\n        ') }},
        case
            when
                group_lines >= {{ minimum_hosts() }}
                and (lines_left_out = 0 or lines_left_out >= {{ minimum_hosts() }} or large_enough_rank > 1)
                then group_name
            else 'withheld'
        end as served_name
    from ranked
),

served_lines as (
    select
        lines.access_part_fingerprint,
        lines.hour_of_day,
        lines.group_kind,
        served_names.served_name as group_name,
        lines.hosts,
        lines.rtt_samples,
        {{ integer_divide('lines.rtt_sum_us', 'lines.rtt_samples') }} as mean_rtt_us,
        {{ integer_divide('lines.increase_sum_us', 'lines.rtt_samples') }} as mean_increase_us,
        {{ integer_divide('lines.rtt_sum_us - lines.increase_sum_us', 'lines.rtt_samples') }} as mean_floor_us
    from lines
    inner join served_names
        on
            lines.access_part_fingerprint = served_names.access_part_fingerprint
            and lines.hour_of_day = served_names.hour_of_day
            and lines.group_kind = served_names.group_kind
            and lines.group_name = served_names.group_name
),

binned as (
    {%- for metric, column in {'rtt': 'mean_rtt_us', 'rtt_increase': 'mean_increase_us', 'rtt_floor': 'mean_floor_us'}.items() %}
        {{ 'union all' if not loop.first }}
        select
            {{ group | join(',\n            ') }},
            '{{ metric }}' as metric,
            {{ log_linear_bin(column) }} as bin_index,
            count(*) as bin_lines,
            cast(sum(hosts) as bigint) as bin_hosts,
            {{ bounded_sum('rtt_samples') }} as bin_samples
        from served_lines
        group by {{ group | join(', ') }}, {{ log_linear_bin(column) }}
    {%- endfor %}
),

cumulated as (
    select
        *,
        sum(bin_lines) over (
            partition by {{ cell | join(', ') }}
            order by bin_index
            rows between unbounded preceding and current row
        ) as lines_up_to_bin,
        sum(bin_lines) over (partition by {{ cell | join(', ') }}) as cell_lines
    from binned
),

percentiles as (
    {%- for percentile in percentiles %}
        {{ 'union all' if not loop.first }}
        select {{ percentile }} as percentile
    {%- endfor %}
),

with_ranks as (
    select
        cumulated.*,
        percentiles.percentile,
        {{ quantile_rank('percentiles.percentile * 10', 'cumulated.cell_lines') }} as value_rank,
        {{ lower_rank_of_quantile('percentiles.percentile', 'cumulated.cell_lines') }} as lower_rank,
        {{ upper_rank_of_quantile('percentiles.percentile', 'cumulated.cell_lines') }} as upper_rank
    from cumulated
    cross join percentiles
    where cumulated.cell_lines >= {{ minimum_hosts() }}
),

final as (
    select
        {{ cell | join(',\n        ') }},
        percentile,
        cast(max(cell_lines) as bigint) as lines,
        cast(sum(bin_hosts) as bigint) as hosts,
        {{ bounded_sum('bin_samples') }} as rtt_samples,
        min(case when lower_rank >= 1 and upper_rank <= cell_lines and lines_up_to_bin >= lower_rank then bin_index end) as lower_bin_index,
        min(case when lines_up_to_bin >= value_rank then bin_index end) as bin_index,
        min(case when lower_rank >= 1 and upper_rank <= cell_lines and lines_up_to_bin >= upper_rank then bin_index end) as upper_bin_index
    from with_ranks
    group by {{ cell | join(', ') }}, percentile
)

select * from final
