{{ config(
    severity='warn',
    meta={
        'warning': 'runs with more than two competing roles',
        'advice': 'they have no equality and no harm; leave out the rival, or the congestion control of the competing flow'
    }
) }}

-- Equality and harm are between two roles; a table of a study may give a rival to a run with an application and a TCP flow.
with

run_roles as (
    select * from {{ ref('int_run_role') }}
    where competes
),

final as (
    select
        study_id,
        run_id,
        count(*) as roles
    from run_roles
    group by study_id, run_id
    having count(*) > 2
)

select * from final
