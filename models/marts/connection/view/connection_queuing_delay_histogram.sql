{{ histogram_of_parts(
    ref('int_queuing_delay_day'), 'start_date',
    ['detail_level', 'access_technology', 'proximity_class', 'country', 'transfer_size_class', 'ip_version'], is_upper_bound=true
) }}
