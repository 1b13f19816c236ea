{{ histogram_of_parts(
    ref('int_rtt_day'), 'start_date',
    ['detail_level', 'access_technology', 'proximity_class', 'country', 'transfer_size_class', 'ip_version', 'rtt_statistic']
) }}
