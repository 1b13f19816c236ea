"""Data tests of the same tables as one statement: those that look at each row by itself share one reading."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from sojourn_transforms.dbt.compilation import Statement, Test
from sojourn_transforms.spark.shared_ctes import without_comments

#: Rows of one table that fulfil a condition, in named columns or all.
ROWS_OF_A_TABLE = re.compile(
    r"\s*select\s+(?!distinct\b|all\b)(?:\*|[\w\s,]+?)\s+from\s+([\w.]+)\s+where\s+(.+?)\s*", re.DOTALL | re.IGNORECASE
)
#: What makes a condition depend on other rows or is no condition any more, and what may fail: Spark may compute what
#: two conditions share before the part of a condition that guards it.
MORE_THAN_A_CONDITION = re.compile(
    r"\b(?:select|group|having|order|sort|cluster|distribute|limit|offset|union|except|minus|intersect|qualify|window"
    r"|over|lateral|div|cast)\b|[/%]|::",
    re.IGNORECASE,
)


def asked_at_once(tests: Sequence[Statement]) -> str:
    """Return the statement that gives one row for each test.

    Columns: ``number`` (which test, from 0), ``failures``, ``is_warned`` and ``is_failed``.
    """
    conditions: dict[str, dict[int, str]] = defaultdict(dict)
    parts = []
    for number, statement in enumerate(tests):
        found = condition_of(statement)
        if found is None:
            parts.append(_by_itself(number, statement))
        else:
            table, condition = found
            conditions[table][number] = condition
    shared = (_in_one_reading(table, found, tests) for table, found in conditions.items())
    return " union all ".join([*shared, *parts])


def condition_of(statement: Statement) -> tuple[str, str] | None:
    """Return the table whose rows a test counts, and the condition that they fulfil; None for any other test."""
    if statement.test.count != Test().count or statement.test.limit is not None:
        return None
    found = ROWS_OF_A_TABLE.fullmatch(without_comments(statement.sql))
    if found is None or MORE_THAN_A_CONDITION.search(found[2]):
        return None
    return found[1], found[2]


def _in_one_reading(table: str, conditions: dict[int, str], tests: Sequence[Statement]) -> str:
    counts = ", ".join(f"count_if({condition}) as of_{number}" for number, condition in conditions.items())
    rows = ", ".join(_row(number, tests[number].test) for number in conditions)
    names = "number, failures, is_warned, is_failed"
    return f"select stack({len(conditions)}, {rows}) as ({names}) from (select {counts} from {table}) as counted"


def _row(number: int, test: Test) -> str:
    counted = f"of_{number}"
    return ", ".join([str(number), counted, *_judged(counted, test)])


def _by_itself(number: int, statement: Statement) -> str:
    test = statement.test
    is_warned, is_failed = _judged(test.count, test)
    limit = "" if test.limit is None else f" limit {test.limit}"
    return (
        f"select {number} as number, {test.count} as failures, {is_warned} as is_warned, {is_failed} as is_failed"
        f" from ({statement.sql}{limit}) as rows_of_{number}"
    )


def _judged(counted: str, test: Test) -> Iterator[str]:
    yield f"{counted} {test.warn_if}"
    yield f"{counted} {test.error_if}"
