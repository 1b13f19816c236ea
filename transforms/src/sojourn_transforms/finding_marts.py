"""The marts ``finding`` and ``finding_number``: answers to questions, computed from the marts of the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sojourn_statistics.findings import Finding, mark_findings, queue_findings, study_findings
from sojourn_statistics.findings.finding import COLUMNS, NUMBER_COLUMNS, finding_table, number_table
from sojourn_statistics.findings.queue import METRICS
from sojourn_statistics.table_column import TableColumn
from sojourn_transforms.catalogue import MART_LAYER, Mart, MartColumn

Query = Callable[[str], pa.Table]
Rows = Sequence[Mapping[str, Any]]


def _columns(columns: Sequence[TableColumn]) -> tuple[MartColumn, ...]:
    return tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in columns)


FINDING = Mart(
    name="finding",
    description=(
        "What the marts say of a question, for each setting: a verdict, the sentence that dashboards and pages show, "
        "and its first number with interval and n; finding_number has the others."
    ),
    grain="one question of one setting",
    key=("finding_id",),
    columns=_columns(COLUMNS),
)

FINDING_NUMBER = Mart(
    name="finding_number",
    description="The numbers of each finding, with intervals and n, in the order in which they matter.",
    grain="one number of one finding",
    key=("finding_id", "place"),
    columns=_columns(NUMBER_COLUMNS),
)

QUESTIONS: Mapping[str, tuple[str, str, Callable[[Rows], list[Finding]]]] = {
    "queue": ("configuration_metric", f"metric in ({', '.join(repr(name) for name in METRICS)})", queue_findings),
    "study": ("published_comparison", "true", study_findings),
    "marks": ("run_mark", "mark_direction = 'data'", mark_findings),
}
"""The mart that a question is answered from, which of its rows, and what answers it."""

SOURCES = frozenset(mart for mart, _, _ in QUESTIONS.values())


def _findings(query: Query) -> Iterator[Finding]:
    for mart, rows, answer in QUESTIONS.values():
        yield from answer(query(f"select * from {MART_LAYER}.{mart} where {rows}").to_pylist())


def findings(query: Query) -> pa.Table:
    """Return the findings of the marts, of which ``query`` gives the rows of a statement."""
    return finding_table(_findings(query))


def finding_numbers(query: Query) -> pa.Table:
    """Return the numbers of the findings."""
    return number_table(_findings(query))
