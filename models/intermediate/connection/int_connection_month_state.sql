with

parts as (
    select * from {{ ref('int_connection_part') }}
),

final as (
    select
        month_part_fingerprint,
        part_fingerprint
    from parts
    {% if is_incremental() %}
        where month_part_fingerprint not in (select known.month_part_fingerprint from {{ this }} as known)
    {% endif %}
)

select * from final
