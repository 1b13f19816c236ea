"""Data tests of the same tables as one statement: those that look at each row by itself share one reading."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn_transforms.running.sql_text import without_comments
from sojourn_transforms.running.statements import Statement

#: Most tests of one statement.
TESTS_AT_ONCE = 40
#: Rows of one table that fulfil a condition, in named columns or all.
ROWS_OF_A_TABLE = re.compile(
    r"\s*select\s+(?!distinct\b|all\b)(?:\*|[\w\s,]+?)\s+from\s+([\w.]+)\s+where\s+(.+?)\s*", re.DOTALL | re.IGNORECASE
)
#: What makes a condition depend on other rows or is no condition any more, and what may fail: an engine may compute
#: what two conditions share before the part of a condition that guards it.
MORE_THAN_A_CONDITION = re.compile(
    r"\b(?:select|group|having|order|sort|cluster|distribute|limit|offset|union|except|minus|intersect|qualify|window"
    r"|over|lateral|div|cast)\b|[/%]|::",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AtFault:
    """A data test that failed, as a message: its name, the number of its rows, and some of them."""

    test: Statement
    count: int
    rows: Sequence[dict[str, Any]]
    others: int

    def __str__(self) -> str:
        shown = "; ".join(
            ", ".join(f"{name} {'null' if value is None else value}" for name, value in row.items())
            for row in self.rows
        )
        more = f"; {self.others} more tests failed" if self.others else ""
        plural = "s" if self.count > 1 else ""
        return f"{self.test.name} fails at {self.count:,} row{plural}: {shown}{more}"


def groups_of_tests(tests: Iterable[Statement]) -> Iterator[tuple[str, list[Statement]]]:
    """Yield the tests that are one statement, those of the same tables, with a name for them."""
    by_tables: dict[tuple[str, ...], list[Statement]] = defaultdict(list)
    for test in tests:
        by_tables[(*sorted(test.after), *(f"lake.{table}" for table in sorted(test.lake_tables)))].append(test)
    for tables, group in by_tables.items():
        for start in range(0, len(group), TESTS_AT_ONCE):
            part = group[start : start + TESTS_AT_ONCE]
            number = f" {start // TESTS_AT_ONCE + 1}" if len(group) > TESTS_AT_ONCE else ""
            yield f"tests{number} of {', '.join(tables)}", part


def counts_sql(tests: Sequence[Statement], empty: Collection[str] = ()) -> list[tuple[str, list[int]]]:
    """Return statements of one row each, and which tests' failures its columns are.

    Tests that look at each row of a table by itself share a statement of their own, since they share its reading. Those
    of a table that is ``empty``, by its relation, cannot fail and have no statement.
    """
    conditions: dict[str, dict[int, str]] = defaultdict(dict)
    alone: list[int] = []
    for number, statement in enumerate(tests):
        of_test = condition_of(statement)
        if of_test is None:
            alone.append(number)
        elif of_test[0] not in empty:
            conditions[of_test[0]][number] = of_test[1]
    statements = []
    for table, of_table in conditions.items():
        counts = ", ".join(f"count_if({condition})" for condition in of_table.values())
        statements.append((f"select {counts} from {table}", list(of_table)))
    if alone:
        counts = ", ".join(f"(select count(*) from ({tests[number].sql}) as of_{number})" for number in alone)
        statements.append((f"select {counts}", alone))
    return statements


def condition_of(statement: Statement) -> tuple[str, str] | None:
    """Return the table whose rows a test counts, and the condition that they fulfil; None for any other test."""
    match = ROWS_OF_A_TABLE.fullmatch(without_comments(statement.sql))
    if match is None or MORE_THAN_A_CONDITION.search(match[2]):
        return None
    return match[1], match[2]
