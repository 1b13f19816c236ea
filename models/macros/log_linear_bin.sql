{#-
    Log-linear histogram bins of whole microseconds: one bin per microsecond below 64, then 64 equally wide bins per power of two.
    A bin's midpoint is within 0.8 % of every value in it. Bins add up over any grouping, and have no upper end.

        index   lower (us)   width (us)
        0..63   index        1
        64..    (64 + index mod 64) * 2^(index div 64 - 1)    2^(index div 64 - 1)
-#}

{#- Index of the bin that contains a value; null for null and for negative values. -#}
{% macro log_linear_bin(value_us) -%}
    case
        when {{ value_us }} < 0 then null
        when {{ value_us }} < 64 then cast({{ value_us }} as bigint)
        else 64 * ({{ octave_of(value_us) }}) + {{ shift_right(value_us, octave_of(value_us)) }}
    end
{%- endmacro %}

{#- Number of times that the width of the bin of a value of at least 64 was doubled: the value's number of binary digits, minus 7. -#}
{% macro octave_of(value_us) -%}
    {{ adapter.dispatch('octave_of', 'sojourn')(value_us) }}
{%- endmacro %}

{#- DuckDB cannot count leading zeros, and writing the digits as text takes four times as long as a search with five or six comparisons. -#}
{% macro default__octave_of(value_us) -%}
    {{ octave_between(value_us, 0, 56) }}
{%- endmacro %}

{#-
    On Spark, comparisons compile to a few machine instructions, but a search up to the largest value gives a method too long to compile.
    Values of 134 s and more are rare.
-#}
{% macro spark__octave_of(value_us) -%}
    case when {{ value_us }} < {{ 2 ** 27 }} then {{ octave_between(value_us, 0, 20) }} else length(bin({{ value_us }})) - 7 end
{%- endmacro %}

{% macro octave_between(value_us, least, most) -%}
    {%- if least == most -%}
        {{ least }}
    {%- else -%}
        {%- set middle = (least + most) // 2 -%}
        case when {{ value_us }} < {{ 2 ** (middle + 7) }} then {{ octave_between(value_us, least, middle) }}
        {{- ' else ' }}{{ octave_between(value_us, middle + 1, most) }} end
    {%- endif -%}
{%- endmacro %}

{#- Smallest value in a bin. -#}
{% macro bin_lower_us(bin_index) -%}
    case
        when {{ bin_index }} < 64 then cast({{ bin_index }} as bigint)
        else {{ shift_left('64 + ' ~ bin_index ~ ' % 64', bin_octave(bin_index)) }}
    end
{%- endmacro %}

{#- Smallest value above a bin. -#}
{% macro bin_upper_us(bin_index) -%}
    case
        when {{ bin_index }} < 64 then cast({{ bin_index }} as bigint) + 1
        else {{ shift_left('65 + ' ~ bin_index ~ ' % 64', bin_octave(bin_index)) }}
    end
{%- endmacro %}

{#- Midpoint of a bin in milliseconds. -#}
{% macro bin_midpoint_ms(bin_index) -%}
    cast({{ bin_lower_us(bin_index) }} + {{ bin_upper_us(bin_index) }} - 1 as double) / 2000
{%- endmacro %}

{#- Number of times that the width of a bin was doubled. -#}
{% macro bin_octave(bin_index) -%}
    greatest({{ integer_divide(bin_index, 64) }} - 1, 0)
{%- endmacro %}
