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
        {% for number in (1, 2, 3) -%}
        max(at_most_us) filter (where class_number = {{ number }}) as proximity_{{ number }}_us{{ '' if loop.last else ',' }}
        {% endfor %}
    from proximity_classes
),

transfer_size_limits as (
    select
        {% for number in (1, 2, 3) -%}
        max(at_most_bytes) filter (where class_number = {{ number }}) as transfer_size_{{ number }}_bytes{{ '' if loop.last else ',' }}
        {% endfor %}
    from transfer_size_classes
),

thresholds as (
    select
        {% for number in (1, 2, 3) -%}
        max(threshold_us) filter (where threshold_number = {{ number }}) as threshold_{{ number }}_us{{ '' if loop.last else ',' }}
        {% endfor %}
    from delay_thresholds
),

final as (
    select
        proximity_limits.*,
        transfer_size_limits.*,
        thresholds.*
    from proximity_limits
    cross join transfer_size_limits
    cross join thresholds
)

select * from final
