with

proximity_classes as (
    select * from {{ ref('proximity_class') }}
),

transfer_size_classes as (
    select * from {{ ref('transfer_size_class') }}
),

final as (
    select
        'proximity' as class_kind,
        class_number,
        concat(proximity_class, '@', cast(class_version as string)) as class_name
    from proximity_classes

    union all

    select
        'proximity' as class_kind,
        -1 as class_number,
        'withheld' as class_name

    union all

    select
        'transfer_size' as class_kind,
        class_number,
        concat(transfer_size_class, '@', cast(class_version as string)) as class_name
    from transfer_size_classes

    union all

    select
        'transfer_size' as class_kind,
        0 as class_number,
        'unknown' as class_name

    union all

    select
        'transfer_size' as class_kind,
        -1 as class_number,
        'withheld' as class_name
)

select * from final
