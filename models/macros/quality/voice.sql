{#- SQL versions of the functions in sojourn_statistics.quality.voice and playout. A test compares them. -#}

{% macro delay_impairment(one_way_delay_ms) -%}
    (
        25 * (
            power(1 + power(ln(greatest({{ one_way_delay_ms }}, 100) / cast(100 as double)) / ln(cast(2 as double)), 6), cast(1 as double) / 6)
            - 3 * power(
                1 + power(ln(greatest({{ one_way_delay_ms }}, 100) / cast(100 as double)) / ln(cast(2 as double)) / 3, 6),
                cast(1 as double) / 6
            )
            + 2
        )
    )
{%- endmacro %}


{% macro effective_equipment_impairment(loss_ratio, burst_ratio, equipment, robustness) -%}
    (
        {{ equipment }}
        + (95 - {{ equipment }}) * 100 * {{ loss_ratio }}
        / (100 * {{ loss_ratio }} / greatest({{ burst_ratio }}, 1) + {{ robustness }})
    )
{%- endmacro %}


{% macro mos_of_rating(rating) -%}
    case
        when {{ rating }} <= 0 then cast(1 as double)
        when {{ rating }} >= 100 then cast(4.5 as double)
        else
            greatest(
                cast(1 as double),
                1 + 0.035 * {{ rating }}
                + {{ rating }} * ({{ rating }} - 60) * (100 - {{ rating }}) * cast(0.000007 as double)
            )
    end
{%- endmacro %}


{% macro rating_of_pesq(pesq) -%}
    least(
        cast(100 as double),
        greatest(
            cast(0 as double),
            ((3.026 * cast({{ pesq }} as double) - 25.314) * {{ pesq }} + 87.06) * {{ pesq }} - 57.336
        )
    )
{%- endmacro %}


{% macro pesq_of_mos_lqo(mos_lqo) -%}
    case
        when {{ mos_lqo }} > 0.999 and {{ mos_lqo }} < 4.999
            then (4.6607 - ln(4 / (cast({{ mos_lqo }} as double) - 0.999) - 1)) / 1.4945
    end
{%- endmacro %}


{% macro mos_lqo_of_pesq(pesq) -%}
    (0.999 + 4 / (1 + exp(-1.4945 * cast({{ pesq }} as double) + 4.6607)))
{%- endmacro %}


{% macro burst_ratio(packets, unplayed_packets, loss_runs) -%}
    case
        when {{ loss_runs }} = 0 or {{ unplayed_packets }} = {{ packets }} then cast(1 as double)
        else
            greatest(
                cast(1 as double),
                cast({{ unplayed_packets }} as double) / {{ loss_runs }}
                * (1 - cast({{ unplayed_packets }} as double) / {{ packets }})
            )
    end
{%- endmacro %}


{#- R of the E-model with every parameter at its default (ITU-T G.107, 7.7). -#}
{% macro default_rating() -%}
    cast(93.2 as double)
{%- endmacro %}
