{{ histogram_of_parts(
    ref('int_queuing_delay_hour_day'), 'start_date',
    ['hour_of_day', 'detail_level', 'access_technology'], is_upper_bound=true
) }}
