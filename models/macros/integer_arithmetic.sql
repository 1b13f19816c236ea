{#- Integer arithmetic that every engine does alike: no float, no logarithm. -#}

{% macro integer_divide(dividend, divisor) -%}
    {{ adapter.dispatch('integer_divide', 'sojourn')(dividend, divisor) }}
{%- endmacro %}

{% macro default__integer_divide(dividend, divisor) -%}
    (({{ dividend }}) // ({{ divisor }}))
{%- endmacro %}

{% macro spark__integer_divide(dividend, divisor) -%}
    (({{ dividend }}) div ({{ divisor }}))
{%- endmacro %}


{% macro shift_left(value, places) -%}
    {{ adapter.dispatch('shift_left', 'sojourn')(value, places) }}
{%- endmacro %}

{% macro default__shift_left(value, places) -%}
    (cast({{ value }} as bigint) << cast({{ places }} as bigint))
{%- endmacro %}

{% macro spark__shift_left(value, places) -%}
    shiftleft(cast({{ value }} as bigint), cast({{ places }} as int))
{%- endmacro %}


{% macro shift_right(value, places) -%}
    {{ adapter.dispatch('shift_right', 'sojourn')(value, places) }}
{%- endmacro %}

{% macro default__shift_right(value, places) -%}
    (cast({{ value }} as bigint) >> cast({{ places }} as bigint))
{%- endmacro %}

{% macro spark__shift_right(value, places) -%}
    shiftright(cast({{ value }} as bigint), cast({{ places }} as int))
{%- endmacro %}


{#- Number of binary digits of a whole number above 0. -#}
{% macro binary_length(value) -%}
    {{ adapter.dispatch('binary_length', 'sojourn')(value) }}
{%- endmacro %}

{% macro default__binary_length(value) -%}
    length(bin({{ value }}))
{%- endmacro %}

{#- Spark makes a text of every binary digit for longer than all else in a histogram takes; a quarter as many are quick. -#}
{% macro spark__binary_length(value) -%}
    {%- set below = '4 * (length(hex(' ~ value ~ ')) - 1)' -%}
    ({{ below }} + case
        when {{ shift_right(value, below) }} < 2 then 1
        when {{ shift_right(value, below) }} < 4 then 2
        when {{ shift_right(value, below) }} < 8 then 3
        else 4
    end)
{%- endmacro %}
