{{ histogram_of_parts(
    ref('int_queuing_delay_country_month'), 'start_month',
    ['country', 'access_technology', 'ip_version'], is_upper_bound=true
) }}
