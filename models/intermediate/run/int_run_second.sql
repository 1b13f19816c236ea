-- Every whole second of the window, so that a second without packets counts as zero and is not missing. Only for runs of which something
-- was recorded: a table of a study may have thousands of runs of many hours.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where
        window_end_ns > window_start_ns
        and (has_queue_log or has_capture_after)
),

final as (
    {{ rows_of_whole_numbers_below(
        'runs', ['study_id', 'run_id'], integer_divide('window_end_ns - window_start_ns', 1000000000), 'second'
    ) }}
)

select * from final
