{%- set period = ['period_kind', 'period', 'dataset', 'synthetic', 'rtt_basis', 'sample_basis'] -%}
with

parts as (
    select * from {{ ref('int_connection_part') }}
),

of_days as (
    select * from {{ ref('int_host_day_count') }}
),

of_months as (
    select * from {{ ref('int_host_month_count') }}
),

of_all as (
    select * from {{ ref('int_host_whole_count') }}
),

periods as (
    select
        'day' as period_kind,
        cast(start_date as string) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        part_fingerprint as period_fingerprint
    from parts

    union all

    select distinct
        'month' as period_kind,
        substr(cast(start_month as string), 1, 7) as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        month_part_fingerprint as period_fingerprint
    from parts

    union all

    select distinct
        'all' as period_kind,
        'all' as period,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        whole_part_fingerprint as period_fingerprint
    from parts
),

counted as (
    {%- for kind, counts, fingerprint in (
        ('day', 'of_days', 'part_fingerprint'), ('month', 'of_months', 'month_part_fingerprint'), ('all', 'of_all', 'whole_part_fingerprint')
    ) %}
        {{ 'union all' if not loop.first }}
        select
            '{{ kind }}' as period_kind,
            {{ fingerprint }} as period_fingerprint,
            {{ host_count_columns() | join(',\n        ') }}
        from {{ counts }}
    {%- endfor %}
),

final as (
    select
        periods.{{ period | join(',\n        periods.') }},
        counted.{{ host_count_columns() | join(',\n        counted.') }}
    from counted
    inner join periods
        on
            counted.period_kind = periods.period_kind
            and counted.period_fingerprint = periods.period_fingerprint
)

select * from final
