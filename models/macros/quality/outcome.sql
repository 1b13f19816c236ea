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

{#-
    CTEs that end in `barometer`: what the latency without load alone says of the Internet Quality Barometer. `met_share` is the score if no
    requirement of an unknown quantity is met; 1 - `latency_share` + `met_share` if all of them are.

    rows: a CTE with the columns of the key and the latency. latency: its column of the latency in ms. A null has no row.
-#}
{% macro barometer_by_latency(rows, key, latency) -%}
requirements as (
    select * from {{ ref('int_iqb_share') }}
    where requirement = 'latency_ms'
),

latency_shares as (
    select
        threshold,
        sum(share) as share
    from requirements
    group by threshold
),

barometer as (
    select
        {%- for column in key %}
            {{ rows }}.{{ column }},
        {%- endfor %}
        round(sum(case when {{ rows }}.{{ latency }} < latency_shares.threshold then latency_shares.share else 0 end), 12) as met_share,
        round(sum(latency_shares.share), 12) as latency_share
    from {{ rows }}
    cross join latency_shares
    where {{ rows }}.{{ latency }} is not null
    group by
        {%- for column in key %}
            {{ rows }}.{{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
)
{%- endmacro %}
