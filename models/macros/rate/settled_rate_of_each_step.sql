{#-
    Settled rate of a run in each step of its programme: the median over the last seconds of the step, as many as the threshold
    step-reference states.

    rates: relation with profile_id, step_number, second and rate_bps. thresholds: relation of the seed threshold.
-#}
{% macro settled_rate_of_each_step(rates, thresholds) -%}
    select
        ranked.profile_id,
        ranked.step_number,
        median(ranked.rate_bps) as settled_bps
    from (
        select
            profile_id,
            step_number,
            rate_bps,
            row_number() over (partition by profile_id, step_number order by second desc) as seconds_before_end
        from {{ rates }}
    ) as ranked
    inner join {{ thresholds }}
        on {{ thresholds }}.threshold_id = 'step-reference'
    where ranked.seconds_before_end <= {{ thresholds }}.threshold_value
    group by ranked.profile_id, ranked.step_number
{%- endmacro %}
