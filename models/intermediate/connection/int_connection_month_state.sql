with

parts as (
    select * from {{ ref('int_connection_part') }}
),

final as (
    select
        month_part_mark,
        part_mark
    from parts
    {% if is_incremental() %}
        where month_part_mark not in (select known.month_part_mark from {{ this }} as known)
    {% endif %}
)

select * from final
