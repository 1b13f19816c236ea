with

proximity_classes as (
    select * from {{ ref('proximity_class') }}
),

transfer_size_classes as (
    select * from {{ ref('transfer_size_class') }}
),

delay_thresholds as (
    select * from {{ ref('delay_threshold') }}
),

proximity_limits as (
    select
        max(at_most_us) filter (where class_number = 1) as proximity_1_us,
        max(at_most_us) filter (where class_number = 2) as proximity_2_us,
        max(at_most_us) filter (where class_number = 3) as proximity_3_us
    from proximity_classes
),

transfer_size_limits as (
    select
        max(at_most_bytes) filter (where class_number = 1) as transfer_size_1_bytes,
        max(at_most_bytes) filter (where class_number = 2) as transfer_size_2_bytes,
        max(at_most_bytes) filter (where class_number = 3) as transfer_size_3_bytes
    from transfer_size_classes
),

threshold_values as (
    select
        max(threshold_us) filter (where threshold_number = 1) as threshold_1_us,
        max(threshold_us) filter (where threshold_number = 2) as threshold_2_us,
        max(threshold_us) filter (where threshold_number = 3) as threshold_3_us
    from delay_thresholds
),

final as (
    select
        proximity_limits.*,
        transfer_size_limits.*,
        threshold_values.*
    from proximity_limits
    cross join transfer_size_limits
    cross join threshold_values
)

select * from final
