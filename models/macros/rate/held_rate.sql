{#-
    Relation of the median rate over the five seconds that end with each second of a profile: one row for each second, with the second's
    own rate.

    rates: relation with profile_id, step_number, second and rate_bps.
-#}
{% macro median_rate_of_five_seconds(rates) -%}
    {{ adapter.dispatch('median_rate_of_five_seconds', 'sojourn')(rates) }}
{%- endmacro %}

{% macro default__median_rate_of_five_seconds(rates) -%}
    (
        select
            profile_id,
            step_number,
            second,
            rate_bps as second_rate_bps,
            median(rate_bps) over (partition by profile_id order by second range between 4 preceding and current row) as rate_bps
        from {{ rates }}
    )
{%- endmacro %}

{#- Spark takes no median of a window. -#}
{% macro spark__median_rate_of_five_seconds(rates) -%}
    (
        select
            ending.profile_id,
            ending.step_number,
            ending.second,
            ending.rate_bps as second_rate_bps,
            median(recent.rate_bps) as rate_bps
        from {{ rates }} as ending
        inner join (
            select
                profile_id,
                second,
                rate_bps,
                {{ each_whole_number_below(5) }} as seconds_later
            from {{ rates }}
        ) as recent
            on
                ending.profile_id = recent.profile_id
                and ending.second = recent.second + recent.seconds_later
        group by ending.profile_id, ending.step_number, ending.second, ending.rate_bps
    )
{%- endmacro %}

{#-
    The second from which a rate stays at a level: the median over five seconds is at least the level in this second and in as many
    seconds after it as the threshold step-held states, all within the step. Columns: held_second, null if the level is never held;
    is_reached, whether the median is at the level in any second; and is_cut_off, whether it is there in the last second of the step. If
    is_cut_off is true and there is no held_second, the step ended before the level could be held, which is inconclusive.

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
        max(
            case when levelled.is_at_level and levelled.second >= levelled.from_second and levelled.second = levelled.last_second then 1 else 0 end
        ) = 1 as is_cut_off,
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

{#-
    Why a level that was reached was never held: the rate fell below it again, or the step ended first.

    held: relation of held_second_of_each_step, in a row without a held_second.
-#}
{% macro not_held_reason(held) -%}
    case when {{ held }}.is_cut_off then 'cannot tell: the step ends before the hold time' else 'reached and not held' end
{%- endmacro %}
