with

connections as (
    select * from {{ ref('stg_lake__srtt_connection') }}
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
        {{ utc_date('start_ns') }} as start_date
    from connections
    where source_hash in (select live_sources.source_hash from live_sources)
),

final as (
    select
        dated.source_hash,
        dated.decoder_version,
        dated.start_date,
        count(*) as connections
    from dated
    inner join live_sources
        on
            dated.source_hash = live_sources.source_hash
            and dated.decoder_version = live_sources.decoder_version
    group by dated.source_hash, dated.decoder_version, dated.start_date
)

select * from final
