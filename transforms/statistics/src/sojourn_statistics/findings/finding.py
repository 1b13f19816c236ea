"""A finding, and the tables in which findings are published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sojourn_statistics.ids import id_part
from sojourn_statistics.table_column import TableColumn

Row = Mapping[str, Any]
Verdict = Literal["best", "worst", "tied", "agrees", "mixed", "contradicts", "answered", "cannot tell", "none"]

_TEXT, _REAL, _WHOLE = pa.string(), pa.float64(), pa.int64()

RUN_SETTING = (
    TableColumn("study_id", _TEXT, None, "Study."),
    TableColumn("synthetic", pa.bool_(), None, "Whether the data were generated, not measured."),
    TableColumn("bandwidth_bps", _WHOLE, "bit/s", "Bottleneck rate; null if it changes."),
    TableColumn("bandwidth_programme", _TEXT, None, "Programme by which the rate changes; null if it does not."),
    TableColumn("rtt_ms", _REAL, "ms", "Round-trip time of the path without queuing; null if not stated."),
    TableColumn("application", _TEXT, None, "Application."),
    TableColumn("rival_application", _TEXT, None, "Application that competes; null if TCP competes or nothing."),
    TableColumn("direction", _TEXT, None, "Direction of the data."),
    TableColumn("congested_direction", _TEXT, None, "Direction that the workload congests."),
    TableColumn("workload", _TEXT, None, "What ran."),
    TableColumn("testbed", _TEXT, None, "Testbed."),
    TableColumn("participants", pa.int32(), None, "Number of participants in the call."),
    TableColumn("call_view", _TEXT, None, "View of the call."),
    TableColumn("opposite_link", _TEXT, None, "Link of the other direction."),
    TableColumn("ecn", _TEXT, None, "Which flows use ECN."),
    TableColumn("l4s", _TEXT, None, "Which flows use L4S."),
    TableColumn("start_order", _TEXT, None, "Which flow starts first."),
)
"""What a finding of runs holds for."""

SETTING = (
    *RUN_SETTING,
    TableColumn("run_id", _TEXT, None, "Run; null if the finding is about several runs."),
    TableColumn("dataset", _TEXT, None, "Data set of connections, captures or passive RTT."),
    TableColumn("day", pa.date32(), None, "Day of passive RTT, UTC."),
    TableColumn("rtt_basis", _TEXT, None, "What the RTT of connections is of."),
    TableColumn("sample_basis", _TEXT, None, "What the number of samples of connections counts."),
    TableColumn("delay_basis", _TEXT, None, "What the delay of a tool is: tool, metric and basis of a value."),
)
"""What a finding holds for; null where it does not apply."""

_NUMBER = (
    TableColumn("metric", _TEXT, None, "Metric of the number; null without one."),
    TableColumn("role", _TEXT, None, "Whose packets it is of."),
    TableColumn("value", _REAL, None, "The number, in the unit of its row."),
    TableColumn("value_lower", _REAL, None, "Lower end of its 95 % interval; null without one."),
    TableColumn("value_upper", _REAL, None, "Upper end of its 95 % interval; null without one."),
    TableColumn("metric_unit", _TEXT, None, "Unit of the number."),
    TableColumn("n", _WHOLE, None, "What the number is over."),
    TableColumn("n_unit", _TEXT, None, "What n counts."),
)

COLUMNS = (
    TableColumn("finding_id", _TEXT, None, "Question and setting, as one text.", False),
    TableColumn(
        "question", _TEXT, None, "Which question is answered: access, captures, marks, queue, run, study, tools, trust "
        "or wild.", False,
    ),
    *SETTING,
    TableColumn(
        "verdict", _TEXT, None, "best, worst: one subject is; of marks by the median count, else by its interval. "
        "tied: subjects cannot be told apart. agrees, mixed, contradicts: what was measured beside what was stated, or "
        "sources beside one another. answered: the question is how much, and the numbers say it. cannot tell: no "
        "measurement or no interval. none: there is nothing to choose from, or nothing occurred.", False,
    ),
    TableColumn("subject", _TEXT, None, "What the verdict names, such as the queue; null without one."),
    *_NUMBER,
    TableColumn("headline", _TEXT, None, "The sentence's beginning, which answers the question.", False),
    TableColumn("sentence", _TEXT, None, "The answer with its numbers.", False),
    TableColumn("context", _TEXT, None, "What the sentence holds for, and how it was found.", False),
    TableColumn("sources", _TEXT, None, "Marts that the numbers come from, separated by commas.", False),
)  # fmt: skip
"""Columns of the table of findings, for the mart and the documentation."""

NUMBER_COLUMNS = (
    TableColumn("finding_id", _TEXT, None, "The finding.", False),
    TableColumn("question", _TEXT, None, "Its question.", False),
    TableColumn("study_id", _TEXT, None, "Its study."),
    TableColumn("place", _WHOLE, None, "Order of the number in the finding, from 1.", False),
    TableColumn("subject", _TEXT, None, "What it is measured of, such as the queue."),
    *_NUMBER,
)
"""Columns of the table of the numbers in findings."""


@dataclass(frozen=True)
class FindingNumber:
    """A number of a finding, with its interval (95 %, None without one) and what it is over."""

    subject: str | None
    metric: str
    role: str
    value: float
    lower: float | None
    upper: float | None
    unit: str
    n: int
    n_unit: str = "runs"


@dataclass(frozen=True)
class Finding:
    """The answer to a question for one setting, the columns :data:`SETTING`.

    ``headline`` answers; ``detail`` follows it, with the numbers. ``sources`` are names of marts.
    """

    question: str
    setting: Row
    verdict: Verdict
    subject: str | None
    headline: str
    detail: str
    context: str
    sources: tuple[str, ...]
    numbers: tuple[FindingNumber, ...] = ()

    @cached_property
    def finding_id(self) -> str:
        """The question and the setting as one text; what does not apply is empty."""
        values = ((column.name, self.setting.get(column.name)) for column in SETTING)
        parts = (
            repr(value) if isinstance(value, float) else id_part(name, value, missing="") for name, value in values
        )
        return "/".join((self.question, *parts))

    @property
    def sentence(self) -> str:
        """The answer with its numbers."""
        return f"{self.headline} {self.detail}".rstrip()


def _schema(columns: Iterable[TableColumn]) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def _numbered(number: FindingNumber | None) -> dict[str, Any]:
    if number is None:
        return {}
    return {
        "metric": number.metric,
        "role": number.role,
        "value": number.value,
        "value_lower": number.lower,
        "value_upper": number.upper,
        "metric_unit": number.unit,
        "n": number.n,
        "n_unit": number.n_unit,
    }


def finding_table(findings: Iterable[Finding]) -> pa.Table:
    """Return findings as a table with the columns :data:`COLUMNS`, one row each, by id; a row has the first number."""
    rows = [
        {
            **{column.name: finding.setting.get(column.name) for column in SETTING},
            **_numbered(next(iter(finding.numbers), None)),
            "finding_id": finding.finding_id,
            "question": finding.question,
            "verdict": finding.verdict,
            "subject": finding.subject,
            "headline": finding.headline,
            "sentence": finding.sentence,
            "context": finding.context,
            "sources": ",".join(finding.sources),
        }
        for finding in sorted(findings, key=lambda finding: finding.finding_id)
    ]
    return pa.Table.from_pylist(rows, schema=_schema(COLUMNS))


def number_table(findings: Iterable[Finding]) -> pa.Table:
    """Return the numbers of findings as a table with the columns :data:`NUMBER_COLUMNS`, in the order of findings."""
    rows = [
        {
            **_numbered(number),
            "finding_id": finding.finding_id,
            "question": finding.question,
            "study_id": finding.setting.get("study_id"),
            "place": place,
            "subject": number.subject,
        }
        for finding in sorted(findings, key=lambda finding: finding.finding_id)
        for place, number in enumerate(finding.numbers, start=1)
    ]
    return pa.Table.from_pylist(rows, schema=_schema(NUMBER_COLUMNS))
