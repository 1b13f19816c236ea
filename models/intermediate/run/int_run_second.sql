-- Every whole second of the window, so that a second without packets counts as zero and is not missing.
with

runs as (
    select * from {{ ref('int_run_described') }}
    where window_end_ns > window_start_ns
),

final as (
    select
        study_id,
        run_id,
        {{ each_whole_number_below(integer_divide('window_end_ns - window_start_ns', 1000000000)) }} as second
    from runs
)

select * from final
