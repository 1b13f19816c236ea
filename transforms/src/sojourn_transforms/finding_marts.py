"""The marts ``finding`` and ``finding_number``: answers to questions, computed from the marts of the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sojourn_statistics.findings import (
    Finding,
    access_findings,
    capture_findings,
    mark_findings,
    queue_findings,
    run_findings,
    study_findings,
    tool_findings,
    trust_findings,
    wild_findings,
)
from sojourn_statistics.findings.finding import COLUMNS, NUMBER_COLUMNS, RUN_SETTING, finding_table, number_table
from sojourn_statistics.findings.queue import METRICS
from sojourn_statistics.table_column import TableColumn
from sojourn_transforms.mart import MART_LAYER, Mart, MartColumn

Query = Callable[[str], pa.Table]


def _columns(columns: Sequence[TableColumn]) -> tuple[MartColumn, ...]:
    return tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in columns)


FINDING = Mart(
    name="finding",
    description=(
        "The answer to a question for each setting: a verdict, the sentence that dashboards and pages show, "
        "and its first number with interval and n. finding_number has the other numbers."
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


@dataclass(frozen=True)
class _Rows:
    """Which rows of a mart an answer needs: a select of it, as both engines read it."""

    mart: str
    where: str = "true"
    columns: str = "*"
    group: str = ""

    @property
    def statement(self) -> str:
        """The select."""
        group = f" group by {self.group}" if self.group else ""
        return f"select {self.columns} from {MART_LAYER}.{self.mart} where {self.where}{group}"


def _total(column: str, name: str) -> str:
    return f"cast(coalesce(sum({column}), 0) as bigint) as {name}"


_WITH_PROGRAMME = (
    f"*, (select max(run.bandwidth_programme) from {MART_LAYER}.run"
    " where run.study_id = run_mark.study_id and run.run_id = run_mark.run_id) as bandwidth_programme"
)
"""Only `run` has the programme by which a rate changes."""
_EVERYTHING = "period_kind = 'all' and access_technology = 'all'"

QUESTIONS: Mapping[str, tuple[Callable[..., list[Finding]], tuple[_Rows, ...]]] = {
    "access": (
        access_findings,
        (_Rows("access_delay", "metric = 'rtt_increase' and group_kind in ('all', 'site')"),),
    ),
    "captures": (
        capture_findings,
        (
            _Rows("capture_recording"),
            _Rows("capture_point_delay", "delay_kind = 'queuing_delay'"),
            _Rows("capture_rtp_stream", columns="dataset, loss_ratio, is_repeated"),
        ),
    ),
    "marks": (mark_findings, (_Rows("run_mark", "mark_direction = 'data'", _WITH_PROGRAMME),)),
    "queue": (
        queue_findings,
        (_Rows("configuration_metric", f"metric in ({', '.join(repr(name) for name in METRICS)})"),),
    ),
    "run": (
        run_findings,
        (
            _Rows(
                "run",
                "exclusion_reason is null",
                ", ".join((*(column.name for column in RUN_SETTING), "run_id", "queue_label", "congestion_control")),
            ),
            _Rows("run_queuing_delay", columns="study_id, run_id, role, packets, mean_ms, median_ms, p95_ms"),
            _Rows("run_packet_drop", columns="study_id, run_id, role, offered_packets, drop_ratio"),
            _Rows(
                "run_load_delay",
                "median_increase_ms is not null",
                "study_id, run_id, role, delay_basis, increase_series, median_increase_ms",
            ),
        ),
    ),
    "study": (study_findings, (_Rows("published_comparison"), _Rows("study", columns="study_id, runs, excluded_runs"))),
    "tools": (tool_findings, (_Rows("run_load_delay", "loaded_median_ms is not null"),)),
    "trust": (
        trust_findings,
        (
            _Rows(
                "ingest_outcome",
                columns=f"status, format, count(*) as sources, {_total('records_read', 'records')}, "
                f"{_total('records_refused', 'records_refused')}",
                group="status, format",
            ),
            _Rows(
                "run",
                columns="reconciliation_verdict, exclusion_reason is not null as is_excluded, count(*) as runs, "
                "max(start_ns) as start_ns",
                group="reconciliation_verdict, exclusion_reason is not null",
            ),
            _Rows(
                "connection_count",
                columns=f"served_detail, {_total('connections', 'connections')}",
                group="served_detail",
            ),
            # Each sample is in both metrics, in every group and hour.
            _Rows(
                "access_delay",
                "synthetic and period_kind = 'day' and group_kind = 'all' and metric = 'rtt'",
                columns="rtt_samples",
            ),
        ),
    ),
    "wild": (
        wild_findings,
        (
            _Rows("queuing_delay_share", _EVERYTHING),
            _Rows("connection_queuing_delay_quantile", _EVERYTHING),
        ),
    ),
}
"""What answers a question, and of which rows."""

SOURCES = frozenset(rows.mart for _, reads in QUESTIONS.values() for rows in reads)


def _findings(query: Query) -> Iterator[Finding]:
    for answer, reads in QUESTIONS.values():
        yield from answer(*(query(rows.statement).to_pylist() for rows in reads))


def findings(query: Query) -> pa.Table:
    """Return the findings of the marts, of which ``query`` gives the rows of a statement."""
    return finding_table(_findings(query))


def finding_numbers(query: Query) -> pa.Table:
    """Return the numbers of the findings."""
    return number_table(_findings(query))
