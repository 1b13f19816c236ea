{#-
    No two rows have the same key, and no column of the key is null, except those in `nullable`.
    `is_long`: in a long table, keys are compared only between rows whose keys have the same hash. A hash takes an eighth of the memory,
    and equal keys have equal hashes.
-#}
{% test unique_key(model, columns, nullable=[], is_long=false) %}
{%- if is_long %}
with

repeated_hashes as (
    select {{ key_hash(columns | join(', ')) }} as key_hash
    from {{ model }}
    group by {{ key_hash(columns | join(', ')) }}
    having count(*) > 1
)

{% endif -%}
select
    {{ columns | join(',\n    ') }},
    count(*) as rows_with_this_key
from {{ model }}
{%- if is_long %}
where
    {{ key_hash(columns | join(', ')) }} in (select key_hash from repeated_hashes)
    {%- for column in columns if column not in nullable %}
    or {{ column }} is null
    {%- endfor %}
{%- endif %}
group by
    {{ columns | join(',\n    ') }}
having
    count(*) > 1
    {%- for column in columns if column not in nullable %}
    or {{ column }} is null
    {%- endfor %}
{% endtest %}
