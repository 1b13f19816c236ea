{{ histogram_of_parts(
    ref('int_rtt_as_month_served'), 'start_month',
    ['detail_level', 'access_technology', 'country', 'asn', 'rtt_statistic']
) }}
