{#-
    Log-linear histogram bins of whole microseconds: one bin per microsecond below 64, then 64 equally wide bins per power of two.
    A bin's midpoint is within 0.8 % of every value in it. Bins add up over any grouping, and have no upper end.

        index   lower (us)   width (us)
        0..63   index        1
        64..    (64 + index mod 64) * 2^(index div 64 - 1)    2^(index div 64 - 1)
-#}

{#- Index of the bin that holds a value; null for null and for negative values. -#}
{% macro log_linear_bin(value_us) -%}
    case
        when {{ value_us }} < 0 then null
        when {{ value_us }} < 64 then cast({{ value_us }} as bigint)
        else
            64 * (length(bin({{ value_us }})) - 6)
            + {{ shift_right(value_us, 'greatest(length(bin(' ~ value_us ~ ')) - 7, 0)') }}
            - 64
    end
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

{#- How often the width of a bin was doubled. -#}
{% macro bin_octave(bin_index) -%}
    greatest({{ integer_divide(bin_index, 64) }} - 1, 0)
{%- endmacro %}
