{#- Functions that differ in name between engines, with the same result. -#}

{#- Date, in UTC, of a time in nanoseconds since 1970. -#}
{% macro utc_date(time_ns) -%}
    {{ adapter.dispatch('utc_date', 'sojourn')(time_ns) }}
{%- endmacro %}

{% macro default__utc_date(time_ns) -%}
    (cast('1970-01-01' as date) + cast({{ time_ns }} // 86400000000000 as integer))
{%- endmacro %}

{% macro spark__utc_date(time_ns) -%}
    date_add(cast('1970-01-01' as date), cast({{ time_ns }} div 86400000000000 as int))
{%- endmacro %}


{#- First day of a date's month, as a date. -#}
{% macro month_of(day) -%}
    cast(date_trunc('month', {{ day }}) as date)
{%- endmacro %}


{#-
    63 bits of a hash of columns. The hash differs between engines and between their releases: use it to distinguish values, never in a
    figure.
-#}
{% macro key_hash(columns) -%}
    {{ adapter.dispatch('key_hash', 'sojourn')(columns) }}
{%- endmacro %}

{% macro default__key_hash(columns) -%}
    cast(hash({{ columns }}) >> 1 as bigint)
{%- endmacro %}

{% macro spark__key_hash(columns) -%}
    shiftrightunsigned(xxhash64({{ columns }}), 1)
{%- endmacro %}


{#-
    Sum of doubles, added in ascending order: the last bits of the sum do not depend on the order in which an engine reads its rows. Null
    if there are no values.
-#}
{% macro ordered_sum(value) -%}
    {{ adapter.dispatch('ordered_sum', 'sojourn')(value) }}
{%- endmacro %}

{% macro default__ordered_sum(value) -%}
    sum({{ value }} order by {{ value }})
{%- endmacro %}

{% macro spark__ordered_sum(value) -%}
    case
        when count({{ value }}) > 0
            then aggregate(array_sort(collect_list({{ value }})), cast(0 as double), (added, next_value) -> added + next_value)
    end
{%- endmacro %}


{#-
    Mean of doubles, independent of the order in which an engine reads its rows; null if there are no values. Rounding puts the mean of
    equal values beyond them, so it is kept between the smallest and the largest.
-#}
{% macro ordered_mean(value) -%}
    {{ clamped(ordered_sum(value) ~ ' / nullif(count(' ~ value ~ '), 0)', 'min(' ~ value ~ ')', 'max(' ~ value ~ ')') }}
{%- endmacro %}

{#- A value that is not null, limited to a range: rounding can put a mean outside the range of its values. -#}
{% macro clamped(value, lowest, highest) -%}
    least(greatest({{ value }}, {{ lowest }}), {{ highest }})
{%- endmacro %}
