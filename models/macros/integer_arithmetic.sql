{#- Integer arithmetic with the same result on every engine, without floating point or logarithms. -#}

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
