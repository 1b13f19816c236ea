{{ histogram_of_parts(ref('int_rtt_technology_day'), 'start_date', ['access_technology', 'rtt_statistic']) }}
