{#- The pre-hook reads int_capture_recording, but dbt does not find that dependency in `meta.outdated`. -#}
{%- do ref('int_capture_recording') -%}
with

reported_connections as (
    select * from {{ ref('stg_lake__connection') }}
),

captured_connections as (
    select * from {{ ref('int_capture_connection') }}
),

live_sources as (
    select * from {{ ref('int_connection_source') }}
    {% if is_incremental() %}
        where (source_hash, decoder_version) not in (select
            made.source_hash,
            made.decoder_version
        from {{ this }} as made)
    {% endif %}
),

dated as (
    select
        source_hash,
        decoder_version,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        {{ utc_date('start_ns') }} as start_date
    from reported_connections
    where source_hash in (select live_sources.source_hash from live_sources)

    union all

    select
        source_hash,
        decoder_version,
        dataset,
        false as synthetic,
        rtt_basis,
        sample_basis,
        {{ utc_date('start_ns') }} as start_date
    from captured_connections
),

counted as (
    select
        source_hash,
        decoder_version,
        start_date,
        dataset,
        synthetic,
        rtt_basis,
        sample_basis,
        count(*) as connections
    from dated
    group by source_hash, decoder_version, start_date, dataset, synthetic, rtt_basis, sample_basis
),

final as (
    select counted.*
    from counted
    inner join live_sources
        on
            counted.source_hash = live_sources.source_hash
            and counted.decoder_version = live_sources.decoder_version
)

select * from final
