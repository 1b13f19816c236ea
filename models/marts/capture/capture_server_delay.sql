with

legs as (
    select * from {{ ref('int_capture_leg') }}
),

measured as (
    {{ delays_by_kind('legs', ['dataset', "coalesce(server_name, 'unknown') as server_name", 'client_host_key']) }}
),

client_counts as (
    select
        dataset,
        server_name,
        leg,
        delay_kind,
        count(distinct client_host_key) as clients
    from measured
    group by dataset, server_name, leg, delay_kind
),

delay_bins as (
    select
        dataset,
        server_name,
        leg,
        delay_kind,
        {{ log_linear_bin('delay_us') }} as bin_index,
        count(*) as connections
    from measured
    group by dataset, server_name, leg, delay_kind, bin_index
),

{{ quantiles_of_bins('delay_bins', ['dataset', 'server_name', 'leg', 'delay_kind']) }},

final as (
    select
        quantiles.dataset,
        quantiles.server_name,
        quantiles.leg,
        quantiles.delay_kind,
        quantiles.connections,
        client_counts.clients,
        quantiles.p05_ms,
        quantiles.p25_ms,
        quantiles.median_ms,
        quantiles.p75_ms,
        quantiles.p95_ms,
        quantiles.delay_kind = 'queuing_delay' as is_upper_bound
    from quantiles
    inner join client_counts
        on
            quantiles.dataset = client_counts.dataset
            and quantiles.server_name = client_counts.server_name
            and quantiles.leg = client_counts.leg
            and quantiles.delay_kind = client_counts.delay_kind
)

select * from final
