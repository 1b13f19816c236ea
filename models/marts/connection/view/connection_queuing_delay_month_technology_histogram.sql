{{ histogram_of_parts(
    ref('int_queuing_delay_technology_month'), 'start_month',
    ['access_technology', 'proximity_class', 'transfer_size_class'], is_upper_bound=true
) }}
