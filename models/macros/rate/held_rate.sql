{#-
    The median rate over the five seconds that end with each second of a profile: one row for each second, with its own rate.

    rates: relation with profile_id, step_number, second and rate_bps.
-#}
{% macro median_rate_of_five_seconds(rates) -%}
    select
        ending.profile_id,
        ending.step_number,
        ending.second,
        ending.rate_bps as second_rate_bps,
        median(recent.rate_bps) as rate_bps
    from {{ rates }} as ending
    cross join (
        {%- for seconds in range(5) %}
        select {{ seconds }} as seconds_earlier{{ '' if loop.last else ' union all' }}
        {%- endfor %}
    ) as window_seconds
    inner join {{ rates }} as recent
        on
            ending.profile_id = recent.profile_id
            and ending.second - window_seconds.seconds_earlier = recent.second
    group by ending.profile_id, ending.step_number, ending.second, ending.rate_bps
{%- endmacro %}

{#-
    From which second on a rate is at a level and stays there: the median over five seconds is at least the level in this second and in as many
    seconds after it as the threshold step-held says, all within the step. Columns: held_second, null if it is never held, and is_reached, whether
    the median is at the level in any second.

    targets: relation with profile_id, step_number, target_bps and from_second, the first second that may count. rolling: relation of
    median_rate_of_five_seconds. thresholds: relation of the seed threshold.
-#}
{% macro held_second_of_each_step(targets, rolling, thresholds) -%}
    select
        levelled.profile_id,
        levelled.step_number,
        min(
            case
                when
                    levelled.is_at_level
                    and levelled.second >= levelled.from_second
                    and coalesce(levelled.next_below_second, levelled.last_second + 1) > levelled.second + {{ thresholds }}.threshold_value
                    then levelled.second
            end
        ) as held_second,
        max(case when levelled.is_at_level and levelled.second >= levelled.from_second then 1 else 0 end) = 1 as is_reached,
        count(*) as seconds_seen
    from (
        select
            {{ targets }}.profile_id,
            {{ targets }}.step_number,
            {{ targets }}.from_second,
            {{ rolling }}.second,
            {{ rolling }}.rate_bps >= {{ targets }}.target_bps as is_at_level,
            min(case when {{ rolling }}.rate_bps < {{ targets }}.target_bps then {{ rolling }}.second end) over (
                partition by {{ targets }}.profile_id, {{ targets }}.step_number
                order by {{ rolling }}.second
                rows between current row and unbounded following
            ) as next_below_second,
            max({{ rolling }}.second) over (partition by {{ targets }}.profile_id, {{ targets }}.step_number) as last_second
        from {{ targets }}
        inner join {{ rolling }}
            on
                {{ targets }}.profile_id = {{ rolling }}.profile_id
                and {{ targets }}.step_number = {{ rolling }}.step_number
    ) as levelled
    inner join {{ thresholds }}
        on {{ thresholds }}.threshold_id = 'step-held'
    group by levelled.profile_id, levelled.step_number
{%- endmacro %}
