{#-
    The columns of the key are never null, those named nullable apart, and no two rows have the same.
    `is_long`: of a long table only rows whose key has the hash of another row's are compared as they are: a hash takes
    an eighth of the memory, and rows with equal keys have equal hashes.
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
