{#-
    Score of one quantity of the Quality of Outcome: 100 at what is perfect or better, 0 at what is useless or worse, linear between. Null
    where the quantity is not known.
-#}
{% macro qoo_score(quantity, perfect, useless) -%}
    case
            when {{ quantity }} is not null
                then 100 * least(
                    greatest(({{ useless }} - {{ quantity }}) / ({{ useless }} - {{ perfect }}), cast(0 as double)), cast(1 as double)
                )
        end
{%- endmacro %}
