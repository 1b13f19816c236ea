{{ histogram_of_parts(ref('int_queuing_delay_country_day'), 'start_date', ['country', 'ip_version'], is_upper_bound=true) }}
