{#-
    The columns of the key are never null, those named nullable apart, and no two rows have the same. Rows are told apart by a hash of
    the key first, which takes a part of the time and memory that wide keys of text do; only rows whose hash is not theirs alone are
    looked at.
-#}
{% test unique_key(model, columns, nullable=[]) %}
with

repeated_hashes as (
    select {{ key_hash(columns | join(', ')) }} as key_hash
    from {{ model }}
    group by {{ key_hash(columns | join(', ')) }}
    having count(*) > 1
)

select
    {{ columns | join(',\n    ') }},
    count(*) as rows_with_this_key
from {{ model }}
where {{ key_hash(columns | join(', ')) }} in (select repeated_hashes.key_hash from repeated_hashes)
group by
    {{ columns | join(',\n    ') }}
having count(*) > 1

union all

select
    {{ columns | join(',\n    ') }},
    1 as rows_with_this_key
from {{ model }}
where
    false
    {%- for column in columns if column not in nullable %}
    or {{ column }} is null
    {%- endfor %}
{% endtest %}
