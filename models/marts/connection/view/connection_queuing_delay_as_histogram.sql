{{ histogram_of_parts(
    ref('int_queuing_delay_as_month_served'), 'start_month',
    ['detail_level', 'access_technology', 'country', 'asn'], is_upper_bound=true
) }}
