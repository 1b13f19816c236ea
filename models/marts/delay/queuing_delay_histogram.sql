with

reconciliations as (
    select * from {{ ref('int_run_reconciliation') }}
),

packets as (
    select * from {{ ref('int_queue_packet_with_role') }}
),

-- A packet whose enqueue was not seen has no sojourn time, so it is in no bin, not even the bin of 0.
binned as (
    select
        study_id,
        run_id,
        role,
        {{ log_linear_bin(integer_divide('sojourn_ns', 1000)) }} as bin_index
    from packets
    where
        fate = 'dequeued'
        and departs_in_window
        and role in {{ competing_roles() }}
        and sojourn_ns is not null
),

counted as (
    select
        study_id,
        run_id,
        role,
        bin_index,
        count(*) as packets
    from binned
    group by study_id, run_id, role, bin_index
),

final as (
    select
        counted.study_id,
        counted.run_id,
        counted.role,
        counted.bin_index,
        'queue_sojourn' as delay_basis,
        {{ bin_lower_us('counted.bin_index') }} as bin_lower_us,
        {{ bin_upper_us('counted.bin_index') }} as bin_upper_us,
        counted.packets,
        reconciliations.reconciliation_verdict
    from counted
    left join reconciliations
        on
            counted.study_id = reconciliations.study_id
            and counted.run_id = reconciliations.run_id
)

select * from final
